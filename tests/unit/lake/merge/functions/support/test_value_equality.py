from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.merge.functions.support.value_equality import identity, ordering
from braid.lake.merge.order.order_values import order_values
from braid.lake.merge.plain_values import plain_array
from tests.unit.lake.merge.functions.given_values import arrow_type

NAN = float("nan")
ROW = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float64()))])
MAP = arrow_type("MAP<INT, DOUBLE>")


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        pytest.param(pa.float64(), NAN, -NAN, id="NaN"),
        pytest.param(pa.decimal128(5, 2), Decimal("1.0"), Decimal("1.00"), id="decimal"),
        pytest.param(ROW, (1, [NAN, None]), (1, [NAN, None]), id="row"),
        pytest.param(MAP, [(1, NAN), (2, 0.0)], [(2, 0.0), (1, NAN)], id="entries in any order"),
        pytest.param(ROW, None, None, id="null"),
    ],
)
def test_equal_values_have_one_identity(kind: pa.DataType, one: object, other: object) -> None:
    assert identity(kind)(one) == identity(kind)(other)
    assert hash(identity(kind)(one)) == hash(identity(kind)(other))


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        pytest.param(pa.float64(), 0.0, -0.0, id="zeros"),
        pytest.param(ROW, (1, [0.0]), (1, [-0.0]), id="zeros inside"),
        pytest.param(ROW, (1, None), (1, []), id="null and empty"),
        pytest.param(ROW, None, (None, None), id="null and a row of nulls"),
        pytest.param(MAP, [(1, 0.0)], [(1, None)], id="values of a map"),
        pytest.param(MAP, [(1, 0.0)], [(1, 0.0), (1, 0.0)], id="repeated entries"),
        pytest.param(pa.binary(), b"a", b"", id="bytes"),
    ],
)
def test_other_values_have_another_identity(kind: pa.DataType, one: object, other: object) -> None:
    assert identity(kind)(one) != identity(kind)(other)


ORDERED: list[tuple[pa.DataType, st.SearchStrategy[object]]] = [
    (pa.float64(), st.none() | st.floats()),
    (pa.string(), st.none() | st.text(alphabet="aé\uffff\U0001f600")),
    (pa.binary(), st.none() | st.binary(max_size=3)),
    (pa.int64(), st.none() | st.integers(-3, 3)),
    (arrow_type("ARRAY<INT>"), st.none() | st.lists(st.none() | st.integers(0, 2), max_size=3)),
]


@pytest.mark.parametrize(("kind", "values"), ORDERED, ids=lambda part: str(part)[:12])
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_values_compare_as_those_of_columns_do(
    kind: pa.DataType, values: st.SearchStrategy[object], data: st.DataObject
) -> None:
    pair = data.draw(st.lists(values, min_size=2, max_size=2))
    one, other = (ordering(kind)(value) for value in pair)

    column_one, column_other = order_values(plain_array(pair, kind))

    assert (one < other) == (column_one < column_other)
    assert (one == other) == (column_one == column_other)
