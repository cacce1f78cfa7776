"""Every row reaches the bucket that the format gives it."""

from datetime import date

import pyarrow as pa
import pytest

from braid.lake.format.binary_row import EMPTY_ROW, decode_row
from braid.lake.format.bucket import assign_buckets
from braid.lake.write.buckets.routing import route
from tests.given_tables import given_rows, given_schema


def test_rows_of_repeated_keys_keep_their_order_inside_a_bucket() -> None:
    schema = given_schema({"k": "INT", "v": "INT"}, key=["k"], options={"bucket": "4"})
    rows = given_rows(schema, [[k % 50, k] for k in range(200)])

    groups = list(route(rows, schema))

    assert sorted(group.bucket for group in groups) == [0, 1, 2, 3]
    assert {group.partition for group in groups} == {EMPTY_ROW}
    assert sum(group.rows.num_rows for group in groups) == 200
    for group in groups:
        values = group.rows.column("v").to_pylist()
        assert values == sorted(values)
        assert set(assign_buckets(group.rows, schema).tolist()) == {group.bucket}


def test_rows_of_single_keys_are_ordered_by_key_inside_a_bucket() -> None:
    schema = given_schema({"k": "INT", "v": "INT"}, key=["k"], options={"bucket": "4"})
    rows = given_rows(schema, [[199 - k, k] for k in range(200)])

    groups = list(route(rows, schema))

    assert sum(group.rows.num_rows for group in groups) == 200
    for group in groups:
        keys = group.rows.column("k").to_pylist()
        assert keys == sorted(keys)
        assert group.codes.tolist() == sorted(group.codes.tolist())
        assert set(assign_buckets(group.rows, schema).tolist()) == {group.bucket}


def test_a_single_bucket_is_not_copied() -> None:
    schema = given_schema({"k": "INT"}, key=["k"])
    rows = given_rows(schema, [[1], [2]])

    (group,) = route(rows, schema)

    assert group.rows is rows


def test_system_columns_go_along() -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options={"bucket": "2"})
    rows = given_rows(schema, [[k] for k in range(10)])
    rows = rows.append_column("_SEQUENCE_NUMBER", rows.column("k"))

    for group in route(rows, schema):
        assert group.rows.column("_SEQUENCE_NUMBER").equals(group.rows.column("k"))


def test_partitions_differ_by_all_their_columns() -> None:
    columns = {"k": "INT", "d": "DATE", "h": "STRING"}
    schema = given_schema(columns, key=["k", "d", "h"], partition=["d", "h"])
    first, second = date(2024, 1, 1), date(2024, 1, 2)
    partitions = [(first, "a"), (first, "b"), (second, "a"), (first, "a"), (second, "b")]
    rows = given_rows(schema, [[k, *values] for k, values in enumerate(partitions)])

    groups = {
        decode_row(group.partition, schema.partition_fields): group.rows.column("k").to_pylist()
        for group in route(rows, schema)
    }

    assert groups == {
        (first, "a"): [0, 3],
        (first, "b"): [1],
        (second, "a"): [2],
        (second, "b"): [4],
    }


@pytest.mark.parametrize("rows", [[], [[1, None]], [[1, None], [2, None]], [[1, None], [2, "a"]]])
def test_null_is_a_partition_of_its_own(rows: list[list[object]]) -> None:
    schema = given_schema({"k": "INT", "p": "STRING"}, key=["k"], partition=["p"])
    table = given_rows(schema, rows)

    found = {
        decode_row(group.partition, schema.partition_fields)[0]: group.rows.num_rows
        for group in route(table, schema)
    }

    expected = {value: sum(row[1] == value for row in rows) for value in {row[1] for row in rows}}
    assert found == expected


def test_chunked_columns_are_routed_as_one() -> None:
    schema = given_schema({"k": "INT", "p": "STRING"}, key=["k", "p"], partition=["p"])
    parts = [given_rows(schema, [[1, "b"], [2, "a"]]), given_rows(schema, [[3, "a"], [4, "b"]])]

    groups = {
        decode_row(group.partition, schema.partition_fields)[0]: group.rows.column("k").to_pylist()
        for group in route(pa.concat_tables(parts), schema)
    }

    assert groups == {"a": [2, 3], "b": [1, 4]}
