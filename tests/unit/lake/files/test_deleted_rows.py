"""Rows that a deletion vector marks are left out, with any row groups and batches."""

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyroaring import BitMap

from braid.lake.errors import CorruptData
from braid.lake.files.data_files import DataFileReader, RowGroupFilter
from braid.lake.files.deleted_rows import DeletedRowFilter
from braid.lake.files.storage.memory import MemoryFileIO
from tests.given_tables import given_schema
from tests.unit.lake.files.given_data_files import write_data_file
from tests.unit.lake.files.test_parquet import PATH, describe, key_value


@given(st.data())
def test_unmarked_rows_remain_whatever_the_groups_and_batches(data: st.DataObject) -> None:
    row_counts = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5), "row counts")
    rows = sum(row_counts)
    groups = sorted(data.draw(st.frozensets(st.integers(0, len(row_counts) - 1)), "groups"))
    marked = data.draw(st.frozensets(st.integers(0, rows - 1)), "marked")
    numbered = np.split(np.arange(rows), np.cumsum(row_counts)[:-1])
    decoded = np.concatenate([np.zeros(0, np.int64), *(numbered[group] for group in groups)])
    cuts = sorted(data.draw(st.frozensets(st.integers(0, len(decoded))), "cuts"))

    live = DeletedRowFilter(BitMap(marked), row_counts, groups)
    found = [
        live.without(pa.record_batch({"row": part})).column("row").to_pylist()
        for part in np.split(decoded, cuts)
    ]

    assert list(chain.from_iterable(found)) == [
        row for row in decoded.tolist() if row not in marked
    ]


def live_keys(
    marked: BitMap, *, row_filter: RowGroupFilter | None = None, batch_rows: int = 3
) -> list[int]:
    """Return the keys of ten rows in row groups of four that are not marked."""
    file_io = MemoryFileIO()
    schema = given_schema({"k": "INT", "v": "INT", "t": "TIMESTAMP(9)"}, key=["k"])
    table = key_value(schema, [[k, k, 10**18] for k in range(10)])
    write_data_file(file_io, PATH, table, schema, rows_max=4)
    reader = DataFileReader(file_io, PATH, file_meta=describe(schema, table), schema=schema)
    batches = reader.batches(
        schema.field_names, batch_rows=batch_rows, row_filter=row_filter, marked=marked
    )
    return [key for batch in batches for key in batch.column("k").to_pylist()]


@pytest.mark.parametrize("batch_rows", [1, 3, 100])
def test_marked_rows_of_a_file_are_left_out(batch_rows: int) -> None:
    assert live_keys(BitMap([0, 3, 4, 9]), batch_rows=batch_rows) == [1, 2, 5, 6, 7, 8]


def test_positions_count_the_row_groups_that_are_not_read() -> None:
    marked = BitMap([1, 5, 9])

    last_two = RowGroupFilter(columns=("k",), keep=lambda *_: np.array([False, True, True]))
    assert live_keys(marked, row_filter=last_two) == [4, 6, 7, 8]


def test_every_row_of_a_file_may_be_marked() -> None:
    assert live_keys(BitMap(range(10))) == []


def test_a_mark_beyond_the_file_is_corrupt() -> None:
    with pytest.raises(CorruptData, match=r"10 rows, but .* marks a row at position 10"):
        live_keys(BitMap([10]))
