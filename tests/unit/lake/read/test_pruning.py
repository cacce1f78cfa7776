"""Pruning drops files that cannot match, and no others."""

from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from braid.lake.format.binary_row import encode_row
from braid.lake.format.bucket import assign_buckets
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import EMPTY_STATS, collect_statistics
from braid.lake.read.predicate import bind_conditions, matching_rows
from braid.lake.read.pruning import (
    Bounds,
    file_bounds,
    hash_in_bucket,
    matching_partitions,
    may_match,
    wanted_bucket_hashes,
)
from tests.given_tables import given_conditions, given_rows, given_schema

SCHEMA = given_schema({"k": "INT", "v": "INT", "x": "DOUBLE", "s": "STRING"}, key=["k"])


def v_bounds(*, null_count: int = 0) -> dict[str, Bounds]:
    """Return bounds of one file of 10 rows with v in 10..20, of which some are null."""
    return {
        "v": Bounds(
            minima=pa.array([10], pa.int32()),
            maxima=pa.array([20], pa.int32()),
            null_counts=np.array([null_count]),
            row_counts=np.array([10]),
        )
    }


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("=", 9, False),
        ("=", 10, True),
        ("=", 20, True),
        ("=", 21, False),
        ("!=", 15, True),
        ("<", 10, False),
        ("<", 11, True),
        ("<=", 9, False),
        ("<=", 10, True),
        (">", 20, False),
        (">", 19, True),
        (">=", 21, False),
        (">=", 20, True),
        ("in", [1, 30], False),
        ("in", [1, 15], True),
        ("in", [], False),
        ("=", None, False),
        ("is_null", None, False),
        ("not_null", None, True),
    ],
)
def test_bounds_drop_files_that_cannot_match(
    operator: str, value: object, *, expected: bool
) -> None:
    where = bind_conditions(given_conditions([("v", operator, value)]), SCHEMA)

    assert may_match(v_bounds(), where, 1).tolist() == [expected]


@pytest.mark.parametrize(
    ("null_count", "operator", "expected"),
    [
        (-1, "is_null", True),
        (3, "is_null", True),
        (10, "not_null", False),
        (10, "=", False),
        (-1, "not_null", True),
    ],
)
def test_null_counts_drop_files_that_cannot_match(
    null_count: int, operator: str, *, expected: bool
) -> None:
    where = bind_conditions(given_conditions([("v", operator, 15)]), SCHEMA)

    assert may_match(v_bounds(null_count=null_count), where, 1).tolist() == [expected]


def test_unknown_bounds_drop_nothing() -> None:
    unknown = Bounds(
        minima=pa.nulls(1, pa.int32()),
        maxima=pa.nulls(1, pa.int32()),
        null_counts=np.array([-1]),
        row_counts=np.array([10]),
    )
    for operator in ("=", "!=", "<", ">", "in"):
        value = [5] if operator == "in" else 5
        where = bind_conditions(given_conditions([("v", operator, value)]), SCHEMA)
        assert may_match({"v": unknown}, where, 1).tolist() == [True], operator


def test_a_single_value_is_dropped_by_unequal_unless_it_is_a_float() -> None:
    one = np.array([0])
    for name, arrow_type, expected in (("v", pa.int32(), False), ("x", pa.float64(), True)):
        value = pa.array([5], arrow_type)
        bounds = Bounds(minima=value, maxima=value, null_counts=one, row_counts=one + 3)
        where = bind_conditions(given_conditions([(name, "!=", 5)]), SCHEMA)
        assert may_match({name: bounds}, where, 1).tolist() == [expected], name


FLOATS = (float("-inf"), -1.0, -0.0, 0.0, 1.0, 2.0, float("inf"), float("nan"))


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">=", "in"])
def test_no_file_with_a_float_that_matches_is_dropped(operator: str) -> None:
    files = [sorted(pair, key=FLOATS.index) for pair in product(FLOATS, repeat=2)]
    for values, value in product(files, FLOATS):
        rows = given_rows(SCHEMA, [[k, 1, x, "a"] for k, x in enumerate(values)])
        given = [value] if operator == "in" else value
        where = bind_conditions(given_conditions([("x", operator, given)]), SCHEMA)
        stats = collect_statistics(rows, SCHEMA.fields, truncate=16)
        ours = file_bounds([stats], [2], SCHEMA.fields)
        # Other writers leave NaN out of bounds, and do not distinguish the zeros.
        plain = pc.min_max(pa.array([x + 0.0 for x in values if x == x], pa.float64()))
        others = {
            "x": Bounds(
                minima=pa.array([plain["min"].as_py()], pa.float64()),
                maxima=pa.array([plain["max"].as_py()], pa.float64()),
                null_counts=np.array([0]),
                row_counts=np.array([2]),
            )
        }
        mask = matching_rows(rows, where)
        assert mask is not None
        if pc.any(mask).as_py():
            assert may_match(ours, where, 1).all(), (values, value)
            assert may_match(others, where, 1).all(), (values, value)


def test_bounds_of_floats_drop_files_where_they_can() -> None:
    rows = given_rows(SCHEMA, [[1, 1, 1.0, "a"], [2, 1, 2.0, "b"]])
    stats = collect_statistics(rows, SCHEMA.fields, truncate=16)
    bounds = file_bounds([stats], [2], SCHEMA.fields)
    for condition in (("x", "=", 3.0), ("x", "<", 0.5), ("x", "<=", 0.5), ("x", "in", [0.0, 5.0])):
        where = bind_conditions(given_conditions([condition]), SCHEMA)
        assert may_match(bounds, where, 1).tolist() == [False], condition


def test_truncated_text_bounds_keep_files_of_longer_values() -> None:
    rows = given_rows(SCHEMA, [[1, 1, 1.0, "a" * 20]])
    stats = collect_statistics(rows, SCHEMA.fields, truncate=16)
    bounds = file_bounds([stats], [1], SCHEMA.fields)
    where = bind_conditions(given_conditions([("s", "=", "a" * 20)]), SCHEMA)

    assert may_match(bounds, where, 1).tolist() == [True]


def test_missing_null_counts_are_unknown() -> None:
    bounds = file_bounds([EMPTY_STATS], [1], [])

    assert bounds == {}


def test_partitions_are_chosen_by_their_values() -> None:
    schema = given_schema({"k": "INT", "p": "STRING"}, key=["k", "p"], partition=["p"])
    partitions = [encode_row([value], [schema.field("p")]) for value in ("a", "b")]
    where = bind_conditions(given_conditions([("p", ">=", "b"), ("k", "=", 1)]), schema)

    assert matching_partitions(partitions, where, schema) == {partitions[1]}
    assert matching_partitions(partitions, (), schema) == set(partitions)


def buckets_of(schema: TableSchema, *where: tuple[object, ...]) -> set[int]:
    """Return the buckets of 8 that conditions leave."""
    hashes = wanted_bucket_hashes(bind_conditions(given_conditions(where), schema), schema)
    if hashes is None:
        return set(range(8))
    return {bucket for bucket in range(8) if hash_in_bucket(hashes, bucket, 8)}


def test_equality_on_the_whole_bucket_key_leaves_one_bucket() -> None:
    schema = given_schema({"k": "INT", "s": "STRING"}, key=["k", "s"], options={"bucket": "8"})
    rows = given_rows(schema, [[7, "x"]])
    expected = {int(assign_buckets(rows, schema)[0])}

    assert buckets_of(schema, ("k", "=", 7), ("s", "=", "x")) == expected
    assert buckets_of(schema, ("k", "=", 7), ("s", "in", ["x"])) == expected


def test_a_list_of_keys_leaves_their_buckets() -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options={"bucket": "8"})
    rows = given_rows(schema, [[7], [8], [9]])

    assert buckets_of(schema, ("k", "in", [7, 8, 9])) == set(assign_buckets(rows, schema).tolist())


def test_part_of_the_bucket_key_leaves_all_buckets() -> None:
    schema = given_schema({"k": "INT", "s": "STRING"}, key=["k", "s"], options={"bucket": "8"})

    assert buckets_of(schema, ("k", "=", 7)) == set(range(8))
    assert buckets_of(schema, ("k", "=", 7), ("s", ">", "x")) == set(range(8))


def test_many_keys_are_not_hashed() -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options={"bucket": "8"})
    where = bind_conditions(given_conditions([("k", "in", list(range(1_001)))]), schema)

    assert wanted_bucket_hashes(where, schema) is None


def test_a_null_key_leaves_no_bucket() -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options={"bucket": "8"})

    assert buckets_of(schema, ("k", "=", None)) == set()


def test_dynamic_buckets_are_never_pruned() -> None:
    assert hash_in_bucket(np.array([5], np.int32), 3, -1)


def test_the_smallest_hash_has_a_bucket() -> None:
    assert hash_in_bucket(np.array([-(2**31)], np.int32), (2**31) % 7, 7)
