"""Damaged and absent files are reported with their path, and never read as an empty table."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, CorruptData, InvalidRequest, LocalFileIO, ManualClock, Table
from braid.lake.errors import LakeError, UnsupportedFeature


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with one commit, on disk."""
    catalog = Catalog(
        str(tmp_path), file_io=LocalFileIO(), clock=ManualClock(), random=random.Random(1)
    )
    table = catalog.create_table(
        "db.t", columns=[("k", "INT"), ("s", "STRING")], primary_key=["k"], options={"bucket": "1"}
    )
    rows = {"k": pa.array(range(500), pa.int32()), "s": [f"text {n}" for n in range(500)]}
    table.write_and_commit(pa.table(rows))
    return table


def reopened(table: Table) -> Table:
    """Return the table without anything remembered."""
    return Table.open(table.path, file_io=LocalFileIO())


def read(table: Table) -> tuple[pa.Table | None, LakeError | None]:
    """Return all rows, or the error of reading them."""
    try:
        return reopened(table).scan().to_arrow(), None
    except LakeError as error:
        return None, error


def only(table: Table, pattern: str) -> Path:
    """Return one file of the table."""
    return min(Path(table.path).glob(pattern))


@pytest.mark.parametrize(
    "pattern", ["snapshot/snapshot-1", "manifest/manifest-list-*", "manifest/manifest-[!l]*"]
)
def test_metadata_that_is_cut_or_flipped_is_corrupt_by_name(table: Table, pattern: str) -> None:
    path = only(table, pattern)
    whole = path.read_bytes()
    chance = random.Random(7)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged if chance.random() < 0.7 else damaged[: len(whole) // 2])
        _, error = read(table)

        assert error is None or not error.retryable
        assert not isinstance(error, CorruptData) or table.path in str(error)


def test_a_flipped_bit_in_a_data_file_is_never_a_value(table: Table) -> None:
    path = only(table, "bucket-0/*.parquet")
    whole, expected = path.read_bytes(), table.scan().to_arrow()
    chance = random.Random(7)
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        rows, error = read(table)

        assert rows is None or rows.equals(expected)
        assert error is None or (isinstance(error, CorruptData) and str(path) in str(error))


def test_a_snapshot_under_another_name_is_corrupt(table: Table) -> None:
    path = only(table, "snapshot/snapshot-1")
    path.with_name("snapshot-2").write_bytes(path.read_bytes())

    with pytest.raises(CorruptData, match=r"snapshot-2: the file contains snapshot 1"):
        reopened(table).scan()


def test_a_manifest_absent_under_a_live_snapshot_is_corrupt(table: Table) -> None:
    path = only(table, "manifest/manifest-[!l]*")
    path.unlink()

    with pytest.raises(CorruptData, match=path.name):
        reopened(table).scan()


def test_a_table_without_a_primary_key_is_not_read_as_empty(table: Table) -> None:
    path = only(table, "schema/schema-0")
    path.write_text(path.read_text().replace('"primaryKeys": [\n    "k"\n  ]', '"primaryKeys": []'))

    with pytest.raises(UnsupportedFeature, match="primary key"):
        reopened(table)


def test_an_impossible_path_is_not_retryable(tmp_path: Path) -> None:
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(InvalidRequest):
            LocalFileIO().write_new(f"{tmp_path}/{name}", b"")
