"""Columns that are read from records are completed by the generated ones."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.lake import OFFSET_MAX, LimitExceeded, comparable_bytes, stored_offset
from braid.records.record_columns import OFFSET, TIMESTAMP
from braid.records.table_columns import table_columns
from braid.schemas import TableSpec
from tests.unit.records.given_streams import AT, given_plan, given_records, given_spec

ORDERING = (("version", pa.int32()), ("s__offset", pa.int64()), ("s__partition", pa.int32()))


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


def kept_rows(spec: TableSpec, missing: list[bool], **columns: list[int | None]) -> dict[str, Any]:
    """Return the rows of records, where `a` is kept and missing in some of them."""
    plan = given_plan(spec, on_null_ordering="clear", partitioned_by_key=True)
    rows = table_columns(
        raw(len(missing)),
        int_arrays(**columns),
        plan,
        generation=2,
        missing={"a": pa.array(missing)},
    )
    found: dict[str, Any] = rows.to_pydict()
    return found


def test_the_order_of_a_kept_column_is_that_of_its_group_where_the_record_has_the_field() -> None:
    spec = given_spec({"id": "INT", "a": "INT", "b": "INT", "version": "INT"}, keep=["a"])

    rows = kept_rows(
        spec,
        [False, False, True],
        id=[1, 1, 1],
        a=[5, None, None],
        b=[1, 2, 3],
        version=[7, 8, 9],
    )

    first, second, absent = rows["a__order"]
    assert absent is None
    assert first < second
    ordering = [pa.array(rows[name], type_) for name, type_ in ORDERING]
    assert [first, second] == comparable_bytes(ordering).to_pylist()[:2]


def test_a_kept_column_without_an_ordering_value_has_no_order() -> None:
    spec = given_spec({"id": "INT", "a": "INT", "version": "INT"}, keep=["a"])

    rows = kept_rows(spec, [False, False], id=[1, 2], a=[5, 6], version=[None, 7])

    assert (rows["a"], rows["a__order"][0]) == ([None, 6], None)
    assert rows["a__order"][1] is not None


def test_arrival_alone_orders_the_kept_columns_of_a_group_without_a_declared_order() -> None:
    spec = given_spec({"id": "INT", "a": "INT"}, ordering=None, keep=["a"])

    rows = kept_rows(spec, [False, False], id=[1, 1], a=[5, 6])

    assert rows["a__order"] == sorted(rows["a__order"])
    assert len(set(rows["a__order"])) == 2
