"""The reader of runs: records with their levels, without marked rows."""

import dataclasses
from collections.abc import Mapping

import pyarrow as pa
import pytest
from pyroaring import AbstractBitMap, BitMap

from braid.lake.format.system_columns import LEVEL_FIELD
from braid.lake.lsm.sorted_run import SortedRun
from braid.lake.read.run_reader import RunReader
from tests.given_tables import GivenTable, given_schema


@pytest.fixture
def table() -> GivenTable:
    """Two files: keys 0 to 4 on level 2, keys 5 to 9 on level 0."""
    table = GivenTable(schema=given_schema({"k": "INT", "v": "INT"}, key=["k"]))
    table.write(*[[k, k] for k in range(5)])
    table.write(*[[k, k] for k in range(5, 10)])
    old = table.entries[0]
    table.entries[0] = dataclasses.replace(old, file=dataclasses.replace(old.file, level=2))
    return table


def records(
    table: GivenTable,
    *,
    vectors: Mapping[str, AbstractBitMap] | None = None,
    has_level: bool = False,
) -> pa.Table:
    reader = RunReader(
        file_io=table.file_io,
        paths=table.paths,
        schema=table.schema,
        partition=table.entries[0].partition,
        bucket=0,
        vectors=vectors or {},
        has_level=has_level,
        counters=table.counters,
    )
    run = SortedRun(files=tuple(entry.file for entry in table.entries))
    return pa.Table.from_batches(
        reader.batches(run, ["k", "v"], batch_rows=2, batch_bytes=1_000_000)
    )


def test_records_carry_the_level_of_their_file(table: GivenTable) -> None:
    found = records(table, has_level=True)

    assert found.schema.field(found.num_columns - 1).equals(LEVEL_FIELD)
    assert found.column("_LEVEL").to_pylist() == [2] * 5 + [0] * 5


def test_records_carry_no_level_by_default(table: GivenTable) -> None:
    assert records(table).column_names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"]


def test_marked_rows_are_skipped(table: GivenTable) -> None:
    old, new = (entry.file.file_name for entry in table.entries)

    found = records(table, vectors={old: BitMap([0, 2]), new: BitMap([4])})

    assert found.column("k").to_pylist() == [1, 3, 4, 5, 6, 7, 8]


def test_a_file_whose_rows_are_all_marked_is_not_opened(table: GivenTable) -> None:
    old = table.entries[0].file.file_name

    found = records(table, vectors={old: BitMap(range(5))})

    assert found.column("k").to_pylist() == [5, 6, 7, 8, 9]
    assert table.counters.files == 1
