"""A single row is read without storage once everything that it needs is in copies; else the lookup says so."""

import pytest

from braid.lake import Catalog, InvalidRequest, MemoryFileIO, NotCopied, SnapshotLookup, Table
from tests.unit.lake.table.test_deletion_vectors import write


class CountingFileIO(MemoryFileIO):
    """Storage that counts what is read."""

    reads = 0

    def read_bytes(self, path: str) -> bytes:
        self.reads += 1
        return super().read_bytes(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        self.reads += 1
        return super().read_range(path, offset, length)


def table_with_vectors(storage: MemoryFileIO) -> Table:
    table = Catalog("/w", file_io=storage).create_table(
        "d.t",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "deletion-vectors.enabled": "true",
            "compaction.max-size-amplification-percent": "100000",
        },
    )
    write(table, dict.fromkeys(range(1_000), 1))
    write(table, dict.fromkeys(range(5), 2), removed=(5, 6))
    return table


def checked(at: SnapshotLookup, key: int) -> object:
    row = at.get_copied({"k": key})
    assert row == at.get_many([{"k": key}])[0]
    return row


def test_a_table_is_not_ready_before_its_deletion_vectors_are_read() -> None:
    storage = CountingFileIO()
    at = table_with_vectors(storage).lookup_at()
    assert at.snapshot is not None
    assert at.snapshot.index_manifest is not None

    assert not at.is_cached()
    with pytest.raises(NotCopied):
        at.get_copied({"k": 60})

    at.load()
    storage.reads = 0
    assert at.is_cached()
    assert [checked(at, key) for key in (3, 5, 999, 1_000)] == [
        {"k": 3, "v": 2},
        None,
        {"k": 999, "v": 1},
        None,
    ]
    assert storage.reads == 0


def test_columns_are_checked_even_if_no_file_has_the_key() -> None:
    table = Catalog("/w", file_io=MemoryFileIO()).create_table(
        "d.t", columns=[("id", "BIGINT")], primary_key=["id"], options={"bucket": "4"}
    )

    with pytest.raises(InvalidRequest, match="nope"):
        table.get({"id": 1}, columns=["nope"])
