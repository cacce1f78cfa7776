from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.functions.arithmetic import DECLARATIONS
from braid.lake.merge.plain_values import plain_array
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_steps import (
    UNDECIDED,
    adds,
    definition,
    folded,
    is_same,
    reduced,
)

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
NUMBERS = [*INTEGERS, pa.float32(), pa.float64(), pa.decimal128(10, 0)]

each_number = pytest.mark.parametrize("kind", NUMBERS, ids=str)
each_integer = pytest.mark.parametrize("kind", INTEGERS, ids=str)


def of(kind: pa.DataType, value: int) -> object:
    """Return the number as a plain value of the type."""
    if pa.types.is_decimal(kind):
        return Decimal(value)
    return float(value) if pa.types.is_floating(kind) else value


@each_number
def test_sum(kind: pa.DataType) -> None:
    """Merge-cases F12 and F92."""
    function = definition("sum", kind)

    assert function.aggregate(None, of(kind, 10)) == of(kind, 10)
    assert function.aggregate(of(kind, 1), of(kind, 10)) == of(kind, 11)
    assert function.aggregate(of(kind, 1), None) == of(kind, 1)
    assert function.aggregate(None, None) is None
    assert function.aggregate_late(of(kind, 1), of(kind, 10)) == of(kind, 11)
    assert function.aggregate_late(None, of(kind, 10)) == of(kind, 10)
    assert function.retract(of(kind, 10), of(kind, 5)) == of(kind, 5)
    assert function.retract(None, of(kind, 5)) == of(kind, -5)
    assert function.retract(of(kind, 5), None) == of(kind, 5)
    assert function.retract(None, None) is None
    assert function.retract(of(kind, 1), of(kind, 1)) == of(kind, 0)


@each_number
def test_product(kind: pa.DataType) -> None:
    """Merge-cases F13 and F92."""
    function = definition("product", kind)

    assert function.aggregate(None, of(kind, 10)) == of(kind, 10)
    assert function.aggregate(of(kind, 1), of(kind, 10)) == of(kind, 10)
    assert function.aggregate(of(kind, 2), None) == of(kind, 2)
    assert function.aggregate_late(of(kind, 2), of(kind, 3)) == of(kind, 6)
    assert function.retract(of(kind, 10), of(kind, 5)) == of(kind, 2)
    assert function.retract(None, of(kind, 5)) is None
    assert function.retract(of(kind, 5), None) == of(kind, 5)


@each_integer
def test_an_overflow_names_the_column_and_the_numbers(kind: pa.DataType) -> None:
    largest = 2 ** (kind.bit_width - 1) - 1

    with pytest.raises(SchemaMismatch, match=rf"`sum` of the column.*{largest} \+ 1 does not fit"):
        definition("sum", kind).aggregate(largest, 1)
    with pytest.raises(SchemaMismatch, match=r"does not fit"):
        definition("sum", kind).retract(None, -largest - 1)
    with pytest.raises(SchemaMismatch, match=r"`product` of the column"):
        definition("product", kind).aggregate(largest, 2)
    with pytest.raises(SchemaMismatch, match="5 / 0"):
        definition("product", kind).retract(5, 0)


@each_integer
def test_only_segments_that_might_overflow_are_left_undecided(kind: pa.DataType) -> None:
    largest = 2 ** (kind.bit_width - 1) - 1
    column = pa.array([largest, 1, largest // 3], kind)

    assert reduced("sum", column, adds([0, 1], [1, 1], [2, 2])) == [UNDECIDED, 2, largest // 3 * 2]
    assert reduced("product", column, adds([0, 0], [1, 1])) == [UNDECIDED, 1]


def test_an_overflow_on_the_way_is_one_though_the_sum_fits() -> None:
    column = pa.array([100, 100, -100], pa.int8())

    assert reduced("sum", column, adds([0, 1, 2], [0, 2, 1])) == [UNDECIDED, 100]


FLOAT_SUM = [
    (1e16, 1.0, 1.0),  # ((1e16 + 1) + 1) loses both ones, 1e16 + (1 + 1) does not
    (0.1, 0.2, 0.3),
    (-0.0, -0.0, None),
    (-0.0, None, 0.0),
]


@pytest.mark.parametrize("values", FLOAT_SUM, ids=str)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_floating_sums_are_made_in_order(
    kind: pa.DataType, values: tuple[float | None, ...]
) -> None:
    column = pa.array(values, kind)
    plain = column.to_pylist()
    history = [(Step.ADD, row) for row in range(3)]

    (answer,) = reduced("sum", column, [history])
    assert is_same(answer, folded(definition("sum", kind), plain, history))


def test_a_null_taken_back_leaves_the_sign_of_zero() -> None:
    column = pa.array([None, -0.0])
    history = [(Step.RETRACT, 0), (Step.ADD, 1), (Step.RETRACT, 0)]

    assert is_same(reduced("sum", column, [history])[0], -0.0)


def test_long_floating_sums_are_made_in_order() -> None:
    column = pa.array([0.1] * 1000)
    expected = 0.0
    for _ in range(1000):
        expected += 0.1

    assert reduced("sum", column, adds(range(1000))) == [expected]


def test_sums_of_the_reference() -> None:
    """Merge-cases A22 and A23."""
    prices = plain_array([Decimal("1.01"), Decimal("1.10"), Decimal("10.00")], pa.decimal128(4, 2))
    single = pa.array([1.11, -1.11, 0.0], pa.float32())

    assert reduced("sum", prices, adds(range(3))) == [Decimal("12.11")]
    assert reduced("sum", pa.array([1.11, 1.11, -1.11]), adds(range(3))) == [1.11]
    assert is_same(reduced("sum", single, adds(range(3)))[0], 0.0)


def test_products_of_the_reference() -> None:
    """Merge-cases A24 and A25."""
    thousandths = [Decimal("1.010"), Decimal("1.100"), Decimal("10.000")]
    cents = [Decimal("1.01"), Decimal("1.10"), Decimal("10.00")]
    single = pa.array([1.11, -1.11, 0.0], pa.float32())
    times = adds(range(3))

    assert reduced("product", plain_array(thousandths, pa.decimal128(5, 3)), times) == [
        Decimal("11.110")
    ]
    assert reduced("product", plain_array(cents, pa.decimal128(4, 2)), times) == [Decimal("11.10")]
    assert is_same(reduced("product", single, times)[0], -0.0)
    assert reduced("product", pa.array([1.11, 1.11, -1.11]), times) == [-1.3676310000000003]


def test_a_short_decimal_sum_keeps_more_digits_than_its_type() -> None:
    column = plain_array([Decimal(999), Decimal(1)], pa.decimal128(3, 0))

    assert reduced("sum", column, adds([0, 1])) == [Decimal(1000)]


def test_a_sum_taken_back_from_nothing_has_its_digits_counted() -> None:
    column = plain_array([Decimal(1000), Decimal(1)], pa.decimal128(3, 0))
    history = [(Step.RETRACT, 0), (Step.ADD, 1)]

    assert reduced("sum", column, [history, history[1:]]) == [UNDECIDED, Decimal(1)]
    assert folded(definition("sum", column.type), [Decimal(1000), Decimal(1)], history) == 1


def test_a_decimal_sum_beyond_128_bits_is_left_to_the_definition() -> None:
    kind = pa.decimal128(38, 0)
    largest = Decimal("9" * 38)
    column = plain_array([largest, Decimal(1), Decimal(2)], kind)
    history = [(Step.ADD, 0), (Step.ADD, 1), (Step.ADD, 2)]

    assert reduced("sum", column, [history, history[1:]]) == [UNDECIDED, Decimal(3)]
    # Null, and then the next value starts anew.
    assert folded(definition("sum", kind), [largest, Decimal(1), Decimal(2)], history) == 2


def test_a_seed_taken_back_leaves_zero() -> None:
    """Merge-cases DX1: 5 - 5."""
    column = pa.array([5, 3])
    history = [(Step.SEED, 0), (Step.RETRACT, 0)]

    assert reduced("sum", column, [history, [*history, (Step.RETRACT, 1)]]) == [0, -3]


def test_retracts_before_a_product_change_nothing() -> None:
    column = pa.array([4.0, 8.0])
    history = [(Step.RETRACT, 0), (Step.ADD, 1), (Step.RETRACT, 0)]

    assert reduced("product", column, [history, history[:1]]) == [2.0, None]


def test_quotients_that_64_bits_cannot_find_are_left_undecided() -> None:
    column = pa.array([7, 0, -(2**63), -2])
    history = [[(Step.ADD, 0), (Step.RETRACT, row)] for row in (1, 2, 3)]

    assert reduced("product", column, history) == [UNDECIDED, UNDECIDED, -3]


@pytest.mark.parametrize("text", ["TINYINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38, 2)"])
def test_numbers_are_accepted(text: str) -> None:
    assert all(declaration.accepts(parse_type(text)) for declaration in DECLARATIONS)


@pytest.mark.parametrize("text", ["BOOLEAN", "STRING", "DATE", "TIMESTAMP(3)", "BYTES"])
def test_other_types_are_not(text: str) -> None:
    assert not any(declaration.accepts(parse_type(text)) for declaration in DECLARATIONS)
