"""Values that do not fit their type: they wrap around, in any order and any parts, or fail."""

import itertools
import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    SchemaMismatch,
    SetOption,
    Table,
)
from braid.lake.merge.functions.support.exact_numbers import Decimals, Integers
from braid.lake.merge.functions.support.overflow import Overflow, wrapped, wrapped_digits


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_wrap_round_as_machines_do(bits: int) -> None:
    integers, half = Integers(bits, Overflow.WRAP), 1 << (bits - 1)

    assert integers.add(half - 1, 1) == -half
    assert integers.subtract(-half, 1) == half - 1
    assert integers.negate(-half) == -half
    assert integers.multiply(half - 1, 2) == -2
    assert integers.divide(-half, -1) == -half
    assert wrapped(half - 1, bits) == half - 1


@pytest.mark.parametrize("digits", [3, 18, 19, 38])
def test_decimals_wrap_round_within_their_digits(digits: int) -> None:
    decimals = Decimals(digits, 0, Overflow.WRAP)
    largest = Decimal("9" * digits)

    assert decimals.add(largest, Decimal(1)) == largest.copy_negate()
    assert decimals.subtract(largest.copy_negate(), Decimal(2)) == Decimal(int(largest) - 1)
    assert wrapped_digits(int(largest), digits) == int(largest)


def test_wrapping_gives_one_value_for_any_order_and_any_parts() -> None:
    r = random.Random(3)
    for _ in range(20):
        values = [Decimal(r.randrange(-99999, 100000)) for _ in range(4)]
        for operation, exact in (
            (_sum, sum(map(int, values))),
            (_product, math.prod(map(int, values))),
        ):
            found = set()
            for a, b, c, d in itertools.permutations(values):
                found.add(operation(operation(operation(a, b), c), d))
                found.add(operation(operation(a, b), operation(c, d)))
            assert found == {Decimal(wrapped_digits(exact, 5))}


def _sum(left: Decimal, right: Decimal) -> Decimal:
    found = Decimals(5, 0, Overflow.WRAP).add(left, right)
    assert found is not None
    return found


def _product(left: Decimal, right: Decimal) -> Decimal:
    found = Decimals(5, 0, Overflow.WRAP).multiply(left, right)
    assert found is not None
    return found


@pytest.mark.parametrize("digits", [5, 18, 19])
def test_a_decimal_that_shall_fail_does_so_beyond_its_digits(digits: int) -> None:
    with pytest.raises(OverflowError, match=rf"does not fit DECIMAL\({digits}, 0\)"):
        Decimals(digits, 0, Overflow.FAIL).add(Decimal("9" * digits), Decimal(1))


def table_of(sql: str, **options: str) -> Table:
    catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    return catalog.create_table(
        "d.t",
        columns=[("k", "INT"), ("v", sql), ("note", "STRING")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
        }
        | options,
    )


WRAP = {"fields.v.braid.on-overflow": "wrap"}
FAIL = {"fields.v.braid.on-overflow": "fail"}


def rows(sql: str, *values: int, key: int = 1) -> pa.Table:
    kind = {"BIGINT": pa.int64(), "DECIMAL(5, 2)": pa.decimal128(5, 2)}[sql]
    column = pa.array([Decimal(v) if pa.types.is_decimal(kind) else v for v in values], kind)
    return pa.table({"k": pa.array([key] * len(values), pa.int32()), "v": column})


@pytest.mark.parametrize(
    ("sql", "values", "expected"),
    [
        ("BIGINT", (2**63 - 1, 1, -5), 2**63 - 5),
        ("BIGINT", (2**63 - 1, 1), -(2**63)),
        ("DECIMAL(5, 2)", (999, 2), Decimal("-998.99")),
        ("DECIMAL(5, 2)", (999, 2, -3), Decimal("998.00")),
    ],
)
def test_a_wrapping_sum_is_read_and_compacted_whatever_comes_first(
    sql: str, values: tuple[int, ...], expected: object
) -> None:
    for order in itertools.permutations(values):
        table = table_of(sql, **WRAP)
        for value in order:
            table.write_and_commit(rows(sql, value))
        assert table.get({"k": 1}) == {"k": 1, "v": expected, "note": None}
        table.compact(full=True)
        assert table.get({"k": 1}) == {"k": 1, "v": expected, "note": None}
        together = table_of(sql, **WRAP)
        together.write_and_commit(rows(sql, *order))
        assert together.scan(columns=["v"]).to_arrow().to_pylist() == [{"v": expected}]


@pytest.mark.parametrize("sql", ["BIGINT", "DECIMAL(5, 2)"])
def test_a_failing_sum_names_column_and_key_and_other_columns_are_read(sql: str) -> None:
    table = table_of(sql, **FAIL)
    largest = 2**63 - 1 if sql == "BIGINT" else 999
    table.write_and_commit(rows(sql, 5, key=2))
    for value in (largest, 2):
        table.write_and_commit(rows(sql, value))

    for read in (
        lambda: table.scan().to_arrow(),
        lambda: table.get({"k": 1}),
        lambda: table.compact(full=True),
    ):
        with pytest.raises(SchemaMismatch, match=r"d\.t.*key k = 1 ") as caught:
            read()
        assert [problem.field for problem in caught.value.problems] == ["v"]
        assert caught.value.key == {"k": 1}
    assert table.scan(columns=["k", "note"]).to_arrow().num_rows == 2
    found = table.get({"k": 2})
    assert found is not None
    assert found["v"] == 5
    table.alter(SetOption(key="fields.v.braid.on-overflow", value="wrap"))  # mends it
    assert table.scan().to_arrow().num_rows == 2
    with pytest.raises(SchemaMismatch, match="cannot be merged"):
        table_of(sql, **FAIL).write_and_commit(rows(sql, largest, 2))


@pytest.mark.parametrize(
    ("sql", "value", "message"),
    [("BIGINT", "clamp", "one of wrap, fail"), ("DOUBLE", "wrap", "never overflows")],
)
def test_an_invalid_overflow_rule_is_refused_when_it_is_declared(
    sql: str, value: str, message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        table_of(sql, **{"fields.v.braid.on-overflow": value})
