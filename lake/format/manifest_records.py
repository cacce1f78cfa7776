"""Records of manifests that go from one manifest into another as they are.

Merging replaces manifests by others with the same records in another order. Decoding the statistics of thousands of
columns, encoding them again and compressing them would take most of its time. So a record is known by its entry, with
reduced statistics, and by its place in a block. A block whose records stay together is copied, compressed as it is;
the bytes of all other records are copied into new blocks.

Source: table-format 5.2; Apache Avro 1.11 specification, "Object Container Files".
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from braid.lake.errors import CorruptData
from braid.lake.format.avro.binary import AvroDecoder
from braid.lake.format.avro.codecs import compress
from braid.lake.format.avro.container import BLOCK_BYTES, AvroBlock, join_blocks, read_blocks
from braid.lake.format.avro.schemas import DATA_FILE_FIELDS, MANIFEST
from braid.lake.format.manifest import (
    MANIFEST_KIND,
    ManifestEntry,
    check_end,
    check_supported,
    data_file_field_count,
    decode_entry,
    decode_manifest,
    encode_entry,
)
from braid.lake.format.statistics import ReducedStats

_COPIED_BYTES_MIN: Final = BLOCK_BYTES // 4
"""Bytes from which on a block is worth keeping; smaller ones are joined."""

_UNPACKED_MAX: Final = 128
"""Uncompressed blocks in memory while records are written: one for each manifest that is merged, in most merges."""

_UNCOMPRESSED: Final = "null"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManifestRecord:
    """A record of a manifest.

    Attributes:
        entry: What it says; large value statistics are reduced, and tell nothing.
        block: The block that has the record, in the layout of this engine.
        start: Where the record begins in the uncompressed block.
        end: Where it ends.
    """

    entry: ManifestEntry
    block: AvroBlock
    start: int
    end: int


def read_records(data: bytes) -> list[ManifestRecord]:
    """Return the records of a manifest file, in file order; raises as `decode_manifest`."""
    schema, blocks = read_blocks(data, what=MANIFEST_KIND)
    if data_file_field_count(schema) != len(DATA_FILE_FIELDS):
        return new_records(decode_manifest(data))
    try:
        records = [record for block in blocks for record in _records_of(block)]
    except (IndexError, UnicodeDecodeError) as error:
        text = f"{MANIFEST_KIND} of {len(data)} bytes cannot be read: {error}"
        raise CorruptData(text) from error
    for record in records:
        check_supported(record.entry.file)
    return records


def new_records(entries: Sequence[ManifestEntry]) -> list[ManifestRecord]:
    """Return records of entries whose statistics are not reduced."""
    assert not any(isinstance(entry.file.value_stats, ReducedStats) for entry in entries)
    records = []
    for entry in entries:
        data = encode_entry(entry)
        block = AvroBlock(count=1, compressed=data, codec=_UNCOMPRESSED)
        records.append(ManifestRecord(entry=entry, block=block, start=0, end=len(data)))
    return records


def write_records(records: Sequence[ManifestRecord], compression: str) -> bytes:
    """Return the bytes of a manifest file with the records in the given order.

    Args:
        records: Any number, including none.
        compression: `zstandard`, `deflate` or `null`.
    """
    blocks: list[tuple[int, bytes]] = []
    pending: list[bytes] = []
    size = 0
    unpacked = _Unpacked()

    def flush() -> None:
        nonlocal size
        if pending:
            blocks.append((len(pending), compress(b"".join(pending), compression)))
            pending.clear()
            size = 0

    position = 0
    while position < len(records):
        record = records[position]
        block = record.block
        # A few records before a block are not worth a block of their own: then its records follow them.
        is_boundary = not size or size >= _COPIED_BYTES_MIN
        if block.codec == compression and is_boundary and _is_whole(records, position):
            flush()
            blocks.append((block.count, block.compressed))
            position += block.count
            continue
        data = unpacked.data(block)[record.start : record.end]
        pending.append(data)
        size += len(data)
        position += 1
        if size >= BLOCK_BYTES:
            flush()
    flush()
    return join_blocks(MANIFEST, blocks, compression)


def record_bytes(record: ManifestRecord) -> int:
    """Return the bytes of a record before compression."""
    return record.end - record.start


def _records_of(block: AvroBlock) -> list[ManifestRecord]:
    decoder = AvroDecoder(block.data(what=MANIFEST_KIND))
    records = []
    for _ in range(block.count):
        start = decoder.position
        entry = decode_entry(decoder, len(DATA_FILE_FIELDS), is_reduced=True, has_counts=False)
        assert entry is not None, "all buckets are wanted"
        records.append(ManifestRecord(entry=entry, block=block, start=start, end=decoder.position))
    check_end(decoder, block.count)
    return records


def _is_whole(records: Sequence[ManifestRecord], position: int) -> bool:
    """Return whether all records of a block follow, in its order, and are worth a block."""
    first = records[position]
    count = first.block.count
    if first.start or position + count > len(records):
        return False
    following = records[position : position + count]
    if following[-1].end < _COPIED_BYTES_MIN:
        return False
    at = 0
    for record in following:
        if record.block is not first.block or record.start != at:
            return False
        at = record.end
    return True


class _Unpacked:
    """Uncompressed blocks, the last used ones."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def data(self, block: AvroBlock) -> bytes:
        key = id(block)
        data = self._blocks.pop(key, None)
        if data is None:
            data = block.data(what=MANIFEST_KIND)
        self._blocks[key] = data
        if len(self._blocks) > _UNPACKED_MAX:
            self._blocks.popitem(last=False)
        return data
