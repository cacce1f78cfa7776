"""Columns that are read from records are completed by the generated ones."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.lake import OFFSET_MAX, LimitExceeded, stored_offset
from braid.pipelines.record_columns import OFFSET, TIMESTAMP
from braid.pipelines.sink.table_columns import table_columns
from tests.unit.pipelines.given_streams import AT, given_plan, given_records, given_spec


def int_arrays(**columns: list[int | None]) -> dict[str, pa.Array]:
    return {name: pa.array(values, pa.int32()) for name, values in columns.items()}


def raw(count: int, *, partition: int = 0) -> pa.RecordBatch:
    """Return accepted records, whose values are read already."""
    return given_records([b"{}"] * count, partition=partition)


def test_generated_columns_are_filled_from_kafka() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "STRING"}, ordering=None))
    columns = {**int_arrays(id=[1, 2]), "a": pa.array(["x", None])}

    rows = table_columns(raw(2, partition=3), columns, plan).to_pylist()

    at = AT.replace(microsecond=678_000)
    generated = {"s__partition": 3, "s__at": at, "s__op": "upsert"}
    assert rows == [
        {"id": 1, "a": "x", "s__offset": 0, **generated},
        {"id": 2, "a": None, "s__offset": 1, **generated},
    ]


def test_times_before_the_epoch_are_rounded_towards_the_past() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "INT"}, ordering=None))
    records = replaced(raw(2), TIMESTAMP, pa.array([-1, None]).cast(pa.timestamp("us", tz="UTC")))

    rows = table_columns(records, int_arrays(id=[1, 2], a=[1, 2]), plan)

    assert rows.column("s__at").cast(pa.int64()).to_pylist() == [-1, None]


def test_arrival_stands_behind_a_declared_order() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "INT", "version": "INT"}))
    columns = int_arrays(id=[1, 1], a=[1, 2], version=[7, 7])

    rows = table_columns(raw(2, partition=3), columns, plan, generation=2).to_pylist()

    arrivals = [(row["s__offset"], row["s__partition"]) for row in rows]
    assert arrivals == [(stored_offset(2, 0), 3), (stored_offset(2, 1), 3)]


def test_an_offset_that_cannot_be_stored_is_refused() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "INT"}, ordering=None))
    beyond = replaced(raw(1), OFFSET, pa.array([OFFSET_MAX + 1]))

    with pytest.raises(LimitExceeded, match="281474976710656"):
        table_columns(beyond, int_arrays(id=[1], a=[1]), plan)


def test_a_record_without_ordering_leaves_its_whole_group_null() -> None:
    spec = given_spec({"id": "INT", "a": "INT", "v1": "INT", "v2": "INT"}, ordering=("v1", "v2"))
    plan = given_plan(spec, on_null_ordering="clear")
    columns = int_arrays(id=[1, 2], a=[5, 6], v1=[None, None], v2=[None, 1])

    cleared, kept = table_columns(raw(2), columns, plan).to_pylist()

    assert cleared == {**dict.fromkeys(cleared), "id": 1}
    assert (kept["a"], kept["v2"], kept["s__op"]) == (6, 1, "upsert")


def replaced(records: pa.RecordBatch, name: str, values: Any) -> pa.RecordBatch:
    return records.set_column(records.schema.get_field_index(name), name, values)


def test_a_delete_clears_its_group() -> None:
    plan = given_plan(given_spec({"id": "INT", "a": "INT"}, ordering=None))
    is_delete = np.array([True, False])

    rows = table_columns(raw(2), int_arrays(id=[1, 2], a=[None, 2]), plan, is_delete=is_delete)

    assert rows.column("s__op").to_pylist() == ["clear", "upsert"]
    assert rows.column("s__offset").to_pylist() == [0, 1]
