"""Splits cut to a size: every row once, no key in two, and small when pickled."""

import pickle

import pytest

from braid.lake.read.scan_plan import Split
from braid.lake.read.split_cut import cut_splits, split_bytes
from tests.given_tables import GivenTable, given_schema

COLUMNS = {"k": "INT", "v": "INT", "text": "STRING"}


def given_table(*, stretches: int, files_each: int = 1) -> GivenTable:
    """Return a table of one bucket whose keys are in stretches of ten, each in so many files."""
    table = GivenTable(schema=given_schema(COLUMNS, key=["k"]))
    for number in range(stretches):
        first = 10 * number
        for version in range(files_each):
            table.write(*[[k, version, "x" * 50] for k in range(first, first + 10)])
    return table


def cut(table: GivenTable, target_bytes: int, *, open_file_bytes: int = 0) -> tuple[Split, ...]:
    """Return the cut splits of a scan of everything."""
    return cut_splits(
        table.plan().splits, target_bytes=target_bytes, open_file_bytes=open_file_bytes
    )


def names(split: Split) -> list[str]:
    """Return the names of a split's files."""
    return [file.file_name for file in split.files]


def test_a_bucket_is_cut_between_sections_to_about_the_size() -> None:
    table = given_table(stretches=6)
    (whole,) = table.plan().splits

    pieces = cut(table, 2 * max(file.file_size for file in whole.files))

    assert [len(piece.sections) for piece in pieces] == [2, 2, 2]
    assert [name for piece in pieces for name in names(piece)] == names(whole)
    assert sum(map(split_bytes, pieces)) == split_bytes(whole)


def test_files_that_share_keys_are_never_separated() -> None:
    table = given_table(stretches=2, files_each=3)

    pieces = cut(table, 1)

    assert [len(piece.files) for piece in pieces] == [3, 3]


def test_a_small_file_counts_as_the_cost_of_opening_it() -> None:
    table = given_table(stretches=4)

    assert len(cut(table, 1 << 30, open_file_bytes=1 << 29)) == 2
    assert len(cut(table, 1 << 30)) == 1


def test_cut_splits_keep_their_bucket_and_their_null_counts() -> None:
    schema = given_schema(COLUMNS, key=["k"], options={"bucket": "3"})
    table = GivenTable(schema=schema)
    table.write(*[[k, None, "x"] for k in range(20)])

    for whole, piece in zip(table.plan().splits, cut(table, 1), strict=True):
        assert (piece.partition, piece.bucket) == (whole.partition, whole.bucket)
        for before, after in zip(whole.files, piece.files, strict=True):
            assert after.value_stats.null_counts == before.value_stats.null_counts


@pytest.mark.parametrize("columns", [3, 60])
def test_a_cut_split_is_small_when_pickled(columns: int) -> None:
    types = {"k": "INT"} | {f"text{number}": "STRING" for number in range(columns - 1)}
    table = GivenTable(schema=given_schema(types, key=["k"]))
    table.write([1, *["a long value" * 3] * (columns - 1)])

    (piece,) = cut(table, 1)

    assert len(pickle.dumps(piece)) < 2_000
    assert pickle.loads(pickle.dumps(piece)) == piece
