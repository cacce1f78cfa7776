"""Records go from manifest to manifest unchanged, and their blocks too where they stay together."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.avro import container
from braid.lake.format.avro.container import read_blocks
from braid.lake.format.manifest import ManifestEntry, decode_manifest, encode_manifest
from braid.lake.format.manifest_records import new_records, read_records, write_records
from braid.lake.format.statistics import ReducedStats, SimpleStats
from tests.unit.lake.format.given_files import ENTRY, FILE, PLAIN_ENTRY
from tests.unit.lake.format.java_files import java_file

ENTRIES = [ENTRY, PLAIN_ENTRY]


def wide(number: int, *, size: int = 20_000) -> ManifestEntry:
    """Return an entry with statistics that cannot be compressed."""
    source = random.Random(number)
    stats = SimpleStats(
        min_values=source.randbytes(size), max_values=source.randbytes(size), null_counts=(number,)
    )
    file = replace(FILE, file_name=f"f{number}", value_stats=stats)
    return replace(ENTRIES[0], bucket=number, file=file)


def blocks(data: bytes) -> list[tuple[int, bytes]]:
    return [(block.count, block.compressed) for block in read_blocks(data, what="manifest")[1]]


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([10, 3_000, 20_000, 90_000]), max_size=12),
    seed=st.integers(0, 99),
    codecs=st.tuples(*[st.sampled_from(["zstandard", "null"])] * 2),
)
def test_any_order_of_any_records_has_the_same_entries(
    sizes: list[int], seed: int, codecs: tuple[str, str]
) -> None:
    entries = [wide(number, size=size) for number, size in enumerate(sizes)]
    half = len(entries) // 2
    files = [encode_manifest(part, codecs[0]) for part in (entries[:half], entries[half:])]
    records = [record for data in files for record in read_records(data)]
    kept = [number for number in range(len(entries)) if (number + seed) % 5]
    if seed % 2:
        random.Random(seed).shuffle(kept)

    data = write_records([records[number] for number in kept], codecs[1])

    assert decode_manifest(data) == [entries[number] for number in kept]


def test_blocks_that_stay_together_are_copied_as_they_are() -> None:
    entries = [wide(number) for number in range(9)]
    first, second = encode_manifest(entries[:6]), encode_manifest(entries[6:])
    records = [*read_records(first), *read_records(second)]

    assert write_records(read_records(first), "zstandard") == first
    assert blocks(write_records(records, "zstandard")) == blocks(first) + blocks(second)
    without = blocks(write_records([records[0], *records[2:]], "zstandard"))
    assert without[1:] == (blocks(first) + blocks(second))[1:]


def test_blocks_of_another_compression_are_not_copied() -> None:
    data = encode_manifest([wide(number) for number in range(6)], "null")

    assert write_records(read_records(data), "zstandard") == encode_manifest(decode_manifest(data))


def test_small_blocks_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [replace(ENTRIES[0], bucket=number) for number in range(50)]
    monkeypatch.setattr(container, "BLOCK_BYTES", 1)
    data = encode_manifest(entries)
    assert len(blocks(data)) == 50

    written = write_records(read_records(data), "zstandard")

    assert [count for count, _ in blocks(written)] == [50]
    assert decode_manifest(written) == entries


def test_records_know_their_entries_without_large_statistics() -> None:
    (record,) = read_records(encode_manifest([wide(3)]))

    assert isinstance(record.entry.file.value_stats, ReducedStats)
    assert record.entry.identity == wide(3).identity
    assert read_records(encode_manifest(ENTRIES))[0].entry == ENTRIES[0]


def test_records_of_java_are_read() -> None:
    data = java_file("types-manifest")

    assert decode_manifest(write_records(read_records(data), "zstandard")) == decode_manifest(data)


def test_new_records_are_written_as_entries_are() -> None:
    entries = [wide(number) for number in range(9)]

    assert write_records(new_records(entries), "zstandard") == encode_manifest(entries)
    assert write_records([], "zstandard") == encode_manifest([])


def test_damaged_and_unsupported_records_are_errors() -> None:
    data = bytearray(encode_manifest(ENTRIES, "null"))
    at = data.index(FILE.file_name.encode())
    data[at - 1] = 3  # a negative length
    with pytest.raises(CorruptData, match="cannot be read"):
        read_records(bytes(data))
    outside = replace(ENTRIES[0], file=replace(FILE, external_path="s3://elsewhere/f"))
    with pytest.raises(UnsupportedFeature, match="an external path"):
        read_records(encode_manifest([outside]))
