"""The entries of a bucket are found in a sorted manifest without the blocks of the others."""

import itertools
from dataclasses import replace

import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.avro import container
from braid.lake.format.avro.container import container_header
from braid.lake.format.avro.schemas import MANIFEST_LIST
from braid.lake.format.bucket import BucketId
from braid.lake.format.manifest import ManifestEntry, encode_manifest
from braid.lake.format.manifest_index import ManifestIndex, index_of
from tests.unit.lake.format.given_files import ENTRY

PLACES = [(partition, bucket) for partition in (b"q", b"p") for bucket in (0, 0, 2, 3, 3, 7)]
SORTED = [replace(ENTRY, partition=p, bucket=bucket) for p, bucket in PLACES]


def found(data: bytes, buckets: set[BucketId]) -> tuple[list[ManifestEntry], int]:
    """Return the entries of some buckets, and how many blocks were decoded."""
    index = index_of(data)
    assert index is not None
    numbers = index.holding(buckets, lambda number: packed(index, data, number))
    entries = [entry for number in numbers for entry in decoded(index, data, number)]
    return [e for e in entries if (e.partition, e.bucket) in buckets], len(numbers)


def packed(index: ManifestIndex, data: bytes, number: int) -> bytes:
    place = index.blocks[number]
    return data[place.offset : place.offset + place.size]


def decoded(index: ManifestIndex, data: bytes, number: int) -> list[ManifestEntry]:
    return index.decode(number, packed(index, data, number), is_reduced=False)


@pytest.mark.parametrize("block_bytes", [1, 400, 1 << 18])
def test_all_entries_of_a_bucket_are_found(
    block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "BLOCK_BYTES", block_bytes)
    data = encode_manifest(SORTED)

    for wanted in itertools.product((b"p", b"q", b"r"), range(9)):
        expected = [entry for entry in SORTED if (entry.partition, entry.bucket) == wanted]
        assert found(data, {wanted})[0] == expected
    both = {(b"q", 3), (b"p", 0)}
    entries, _ = found(data, both)
    assert [(entry.partition, entry.bucket) for entry in entries] == [
        p for p in PLACES if p in both
    ]


def test_blocks_of_other_buckets_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "BLOCK_BYTES", 1)
    data = encode_manifest(SORTED)

    # That of the bucket, the one before it, and the last one, in which another partition may follow.
    assert found(data, {(b"q", 2)})[1] == 3


@pytest.mark.parametrize("block_bytes", [1, 700])
def test_a_bucket_of_the_only_partition_is_searched_in_few_blocks(
    block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "BLOCK_BYTES", block_bytes)
    entries = [replace(ENTRY, bucket=number // 3 * 2) for number in range(600)]
    data = encode_manifest(entries)

    for bucket in (-1, 0, 1, 2, 199, 200, 201, 397, 398, 399):
        index = index_of(data)
        assert index is not None
        read: list[int] = []

        def read_block(number: int) -> bytes:
            read.append(number)  # noqa: B023
            return packed(index, data, number)  # noqa: B023

        numbers = index.holding({(ENTRY.partition, bucket)}, read_block)

        found = [entry for number in numbers for entry in decoded(index, data, number)]
        assert [e for e in found if e.bucket == bucket] == [
            e for e in entries if e.bucket == bucket
        ]
        assert len(numbers) <= 4
        assert len(read) <= 14
        index.holding({(ENTRY.partition, bucket)}, read_block)
        assert len(read) == len(set(read))


def test_an_empty_manifest_has_no_blocks() -> None:
    assert found(encode_manifest([]), {(b"q", 0)}) == ([], 0)


def test_files_of_another_layout_have_no_index() -> None:
    sync = bytes(16)

    assert index_of(container_header(MANIFEST_LIST, "null", sync)) is None


@pytest.mark.parametrize("damage", [b"", b"\x04", b"\x04\x00\x0aab"])
def test_a_damaged_block_is_an_error(damage: bytes) -> None:
    data = encode_manifest(SORTED, "null")
    index = index_of(data)
    assert index is not None
    with pytest.raises(CorruptData, match="block 0 of a manifest cannot be read"):
        index.decode(0, damage, is_reduced=False)

    with pytest.raises(CorruptData, match="block 0 of a manifest cannot be read"):
        index.know_all(lambda _: damage)
