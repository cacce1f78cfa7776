"""The index of a sorted manifest: at which bucket each of its blocks begins.

A manifest whose entries are sorted by partition and bucket has the entries of a bucket in one block, or in a few
consecutive ones. Its index is made once, from the first entry of each block, and takes some dozens of bytes for each
block. With it the entries of a bucket are decoded from the bytes of these blocks alone.

Source: table-format 5.2; Apache Avro 1.11 specification, "Object Container Files".
"""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from braid.lake.errors import CorruptData
from braid.lake.format.avro.binary import AvroDecoder
from braid.lake.format.avro.container import AvroBlock, read_blocks
from braid.lake.format.bucket import BucketId
from braid.lake.format.manifest import (
    MANIFEST_KIND,
    ManifestEntry,
    check_end,
    check_supported,
    data_file_field_count,
    decode_entry,
    first_bucket,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPlace:
    """Where a block of a manifest is.

    Attributes:
        offset: Where its compressed bytes begin in the file.
        size: How many they are.
        count: Number of its entries.
        first: Serialised partition row and bucket of its first entry.
    """

    offset: int
    size: int
    count: int
    first: BucketId


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestIndex:
    """The blocks of one sorted manifest.

    Attributes:
        codec: Name of the compression.
        field_count: Number of fields of the file in an entry.
        blocks: In file order.
    """

    codec: str
    field_count: int
    blocks: tuple[BlockPlace, ...]

    def holding(self, buckets: Collection[BucketId]) -> list[int]:
        """Return the numbers of the blocks that may have entries of some buckets, ascending."""
        firsts = [*(block.first for block in self.blocks), None]
        return [
            number
            for number, (first, following) in enumerate(pairwise(firsts))
            if first is not None and _may_hold(first, following, buckets)
        ]

    def decode(self, number: int, compressed: bytes, *, is_reduced: bool) -> list[ManifestEntry]:
        """Return the entries of a block.

        Args:
            number: Of the block.
            compressed: Its bytes.
            is_reduced: Whether large value statistics are reduced (`ReducedStats`).

        Raises:
            As `decode_manifest`.
        """
        count = self.blocks[number].count
        block = AvroBlock(count=count, compressed=compressed, codec=self.codec)
        decoder = AvroDecoder(block.data(what=MANIFEST_KIND))
        try:
            entries = [
                entry
                for _ in range(count)
                if (entry := decode_entry(decoder, self.field_count, is_reduced=is_reduced))
            ]
            check_end(decoder, count)
        except (IndexError, UnicodeDecodeError) as error:
            text = f"block {number} of a {MANIFEST_KIND} cannot be read: {error}"
            raise CorruptData(text) from error
        for entry in entries:
            check_supported(entry.file)
        return entries


def index_of(data: bytes) -> ManifestIndex | None:
    """Return the index of a sorted manifest file; None if its entries have not the layout of this engine.

    Args:
        data: The file: the entries of a partition are together, and sorted by bucket.

    Raises:
        CorruptData: The bytes are not an Avro file.
        UnsupportedFeature: This version does not support the version of an entry or the codec.
    """
    schema, blocks = read_blocks(data, what=MANIFEST_KIND)
    field_count = data_file_field_count(schema)
    if field_count is None:
        return None
    try:
        places = tuple(
            BlockPlace(
                offset=block.offset,
                size=len(block.compressed),
                count=block.count,
                first=first_bucket(AvroDecoder(block.data(what=MANIFEST_KIND))),
            )
            for block in blocks
        )
    except IndexError as error:
        text = f"{MANIFEST_KIND} of {len(data)} bytes cannot be read: {error}"
        raise CorruptData(text) from error
    codec = blocks[0].codec if blocks else ""
    return ManifestIndex(codec=codec, field_count=field_count, blocks=places)


def _may_hold(first: BucketId, following: BucketId | None, buckets: Collection[BucketId]) -> bool:
    """Return whether a block that begins with one bucket, before one that begins with another, may have some buckets."""
    for partition, bucket in buckets:
        is_before = partition == first[0] and bucket < first[1]
        is_behind = following is not None and partition == following[0] and bucket > following[1]
        # Between two entries of one partition there is no other partition.
        is_other = following is not None and first[0] == following[0] != partition
        if not (is_before or is_behind or is_other):
            return True
    return False
