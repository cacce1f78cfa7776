"""The reader of a split: the full merge, filtered and projected, with any condition pushed down."""

import dataclasses
from collections.abc import Mapping

import pyarrow as pa
import pytest

from braid.lake.merge.fold import Machine
from braid.lake.read.reader import read_split
from tests.given_tables import GivenTable, given_schema

GROUPS = {
    "merge-engine": "partial-update",
    "fields.g1.sequence-group": "a",
    "fields.g2.sequence-group": "b",
}


def given_table(
    columns: Mapping[str, object], options: Mapping[str, str] | None = None
) -> GivenTable:
    """Return an empty table with key k."""
    return GivenTable(schema=given_schema({"k": "INT", **columns}, key=["k"], options=options))


@pytest.mark.parametrize("machine", list(Machine))
def test_rows_of_several_commits_are_merged(machine: Machine) -> None:
    table = given_table({"g1": "INT", "a": "INT", "g2": "INT", "b": "INT"}, GROUPS)
    table.write([1, 5, 50, None, None], [2, 1, 10, None, None])
    table.write([1, 4, 40, 7, 70])
    table.write([2, None, None, 1, 11])

    assert table.read(machine=machine) == [(1, 5, 50, 7, 70), (2, 1, 10, 1, 11)]


def test_a_projection_adds_what_the_merge_needs_and_drops_it_again() -> None:
    table = given_table({"g1": "INT", "a": "INT", "g2": "INT", "b": "INT"}, GROUPS)
    table.write([1, 5, 50, None, None])
    table.write([1, 4, 40, 7, 70])

    assert table.read(columns=["a"]) == [(50,)]
    assert {name for _, name in table.counters.columns} == {
        "_SEQUENCE_NUMBER",
        "_VALUE_KIND",
        "k",
        "g1",
        "a",
    }


def test_a_projection_keeps_its_order() -> None:
    table = given_table({"a": "INT", "b": "INT"})
    table.write([1, 2, 3])

    (split,) = table.plan().splits
    (batch,) = read_split(
        table.file_io, table.paths, table.schema, split, columns=["b", "k"], where=()
    )

    assert batch.schema.equals(
        pa.schema([pa.field("b", pa.int32()), pa.field("k", pa.int32(), nullable=False)])
    )


def test_conditions_may_name_columns_outside_the_projection() -> None:
    table = given_table({"a": "INT", "b": "INT"})
    table.write([1, 2, 3], [2, 3, 4])

    assert table.read(("b", ">", 3), columns=["a"]) == [(3,)]


def test_a_value_condition_sees_the_merged_row() -> None:
    table = given_table({"a": "INT", "b": "INT"}, {"merge-engine": "partial-update"})
    table.write([1, 1, None])
    table.write([1, None, 2])

    assert table.read(("a", "=", 1), ("b", "=", 2)) == [(1, 1, 2)]
    assert table.read(("b", "is_null", None)) == []


def test_key_conditions_skip_row_groups_of_overlapping_files() -> None:
    table = given_table({"v": "INT"})
    rows = 300_000
    for version in range(2):
        writer = table.writer()
        keys = pa.array(range(rows), pa.int32())
        writer.write(pa.table({"k": keys, "v": pa.array([version] * rows, pa.int32())}))
        table.commit(writer.prepare_commit())

    assert table.read(("k", "=", rows - 1)) == [(rows - 1, 1)]
    assert table.counters.row_groups == 2
    assert table.counters.row_groups_skipped == 18


def test_columns_of_other_streams_are_not_decoded() -> None:
    """A level-0 file of one stream is null in everybody else's columns."""
    table = given_table({"g1": "INT", "a": "INT", "g2": "INT", "b": "INT"}, GROUPS)
    table.write([1, 5, 50, None, None], drop_null_columns=False)
    table.write([1, None, None, 7, 70], drop_null_columns=False)

    assert table.read() == [(1, 5, 50, 7, 70)]
    first, second = (entry.file.file_name for entry in table.entries)
    decoded = set(table.counters.columns)
    assert {(first, "g2"), (first, "b"), (second, "g1"), (second, "a")} & decoded == set()


def test_a_single_file_with_retracts_shows_none_of_them() -> None:
    table = given_table({"v": "INT"})
    table.write([1, 1], [2, 2], [3, 3], kinds="+I -D -U")

    assert table.read() == [(1, 1)]


def test_retracts_are_hidden_where_their_count_is_unknown() -> None:
    table = given_table({"v": "INT"})
    table.write([1, 1], [2, 2], kinds="+I -D")
    table.entries = [
        dataclasses.replace(entry, file=dataclasses.replace(entry.file, delete_row_count=None))
        for entry in table.entries
    ]

    assert table.read() == [(1, 1)]


def test_the_level_does_not_decide_which_record_wins() -> None:
    table = given_table({"v": "INT"})
    table.write([1, 1])
    table.write([1, 2])
    newer = table.entries[1]
    table.entries[1] = dataclasses.replace(newer, file=dataclasses.replace(newer.file, level=5))

    assert table.read() == [(1, 2)]


def test_batches_are_bounded_and_never_empty() -> None:
    table = given_table({"v": "INT"})
    table.write(*[[k, 1] for k in range(100)])
    table.write(*[[k, 2] for k in range(0, 100, 2)])
    (split,) = table.plan().splits

    batches = list(
        read_split(
            table.file_io,
            table.paths,
            table.schema,
            split,
            columns=["k", "v"],
            batch_rows=7,
        )
    )

    assert all(0 < batch.num_rows <= 7 for batch in batches)
    keys = [key for batch in batches for key in batch.column("k").to_pylist()]
    assert keys == list(range(100))


def test_descending_sequence_fields_merge_correctly_under_a_projection() -> None:
    options = {"sequence.field": "s", "sequence.field.sort-order": "descending"}
    table = given_table({"s": "INT", "v": "INT"}, options)
    table.write([1, 5, 50])
    table.write([1, 9, 90])

    assert table.read(columns=["v"]) == [(50,)]


def test_a_single_run_is_read_without_the_columns_that_only_merging_needs() -> None:
    table = given_table({"a": "INT", "b": "INT"})
    table.write([1, 10, 100], [2, 20, 200])

    assert table.read(columns=["b"]) == [(100,), (200,)]
    assert {name for _, name in table.counters.columns} == {"b"}


def test_columns_that_no_file_has_are_null_in_every_row() -> None:
    table = given_table({"a": "INT"})
    table.write([1, None], [2, None])

    assert table.read(columns=["a"]) == [(None,), (None,)]


def test_a_condition_that_no_row_fulfils_decodes_its_own_column_only() -> None:
    table = given_table({"a": "INT", "b": "INT"})
    table.write([1, 10, 100], [2, 30, 300])

    assert table.read(("a", "=", 20), columns=["b"]) == []
    assert {name for _, name in table.counters.columns} == {"a"}
    assert table.counters.rows == 2
