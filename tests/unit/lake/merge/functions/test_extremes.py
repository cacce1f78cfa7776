import math

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.aggregate_function import Reduced
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.extremes import DECLARATIONS
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.selection import Pick
from tests.unit.lake.merge.functions.given_steps import (
    adds,
    definition,
    is_same,
    reduced,
    steps_of,
)

FLAGS = [(None, True), (False, None), (False, False), (False, True), (True, False), (True, True)]


def test_numbers() -> None:
    """Merge-cases F07."""
    assert definition("max", pa.int32()).aggregate(1, 10) == 10
    assert definition("min", pa.int32()).aggregate(1, 10) == 1


@pytest.mark.parametrize(("accumulated", "value"), FLAGS)
def test_booleans(accumulated: bool | None, value: bool | None) -> None:
    """Merge-cases F08 and F09."""
    known = [flag for flag in (accumulated, value) if flag is not None]

    assert definition("max", pa.bool_()).aggregate(accumulated, value) == max(known)
    assert definition("min", pa.bool_()).aggregate(accumulated, value) == min(known)


@pytest.mark.parametrize(
    ("kind", "smaller", "larger"),
    [
        (pa.float64(), -0.0, 0.0),
        (pa.float64(), math.inf, math.nan),
        (pa.float32(), -math.inf, -1.0),
        (pa.string(), "Z", "a"),
        (pa.string(), "\uffff", "\U0001f600"),
        (pa.string(), "a", "a\0"),
        (pa.binary(), b"\x7f", b"\x80"),
        (pa.binary(), b"a", b"aa"),
    ],
    ids=repr,
)
def test_the_order_is_that_of_the_type(kind: pa.DataType, smaller: object, larger: object) -> None:
    column = pa.array([smaller, larger, None], kind)
    for rows in ([0, 1], [1, 0], [2, 1, 0, 2]):
        assert is_same(reduced("max", column, adds(rows))[0], larger)
        assert is_same(reduced("min", column, adds(rows))[0], smaller)
    for one, other in ((smaller, larger), (larger, smaller)):
        assert is_same(definition("max", kind).aggregate(one, other), larger)
        assert is_same(definition("min", kind).aggregate_late(one, other), smaller)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_nan_is_largest_whatever_its_sign(kind: pa.DataType) -> None:
    column = pa.array([-math.nan, math.inf, math.nan], kind)

    assert is_same(reduced("max", column, adds([0, 1]))[0], math.nan)
    assert reduced("min", column, adds([0, 1, 2])) == [math.inf]


@pytest.mark.parametrize("name", ["max", "min"])
def test_null_counts_as_nothing_even_beside_the_ends_of_the_type(name: str) -> None:
    ends = [-(2**63), 2**63 - 1]
    column = pa.array([None, *ends])

    assert reduced(name, column, adds([0, 1, 0], [0, 2, 0], [0])) == [*ends, None]


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_record_is_picked(name: str) -> None:
    declaration = function_named(name)
    assert declaration is not None
    column = pa.array(["a", "b"])
    reduction = declaration.reduction(ColumnFunction(column="c", name=name), column.type)
    assert reduction is not None

    result = reduction.reduce(steps_of(adds([0, 1])), column)
    assert isinstance(result, Reduced)
    assert isinstance(result.values, Pick)
    assert result.undecided is None


@pytest.mark.parametrize("name", ["max", "min"])
def test_nothing_can_be_taken_back(name: str) -> None:
    with pytest.raises(SchemaMismatch, match=rf"`{name}` of the column has no retract"):
        definition(name, pa.int32()).retract(1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "CHAR",
        "VARCHAR(5)",
        "STRING",
        "BINARY",
        "BYTES",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "TIMESTAMP_LTZ",
    ],
)
def test_comparable_types_are_accepted(text: str) -> None:
    """Merge-cases F10."""
    assert all(declaration.accepts(parse_type(text)) for declaration in DECLARATIONS)


def test_nested_types_are_not() -> None:
    """Merge-cases F11."""
    array = parse_type({"type": "ARRAY", "element": "INT"})

    assert not any(declaration.accepts(array) for declaration in DECLARATIONS)
