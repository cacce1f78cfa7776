import math

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.merge.functions.support.value_equality import ordering
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.order.order_values import order_values
from braid.lake.merge.plain_values import plain_array, plain_values
from tests.support.typed_values import TYPES, values_of

ROW = pa.struct([("a", pa.int32()), ("b", pa.string())])


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        (pa.float64(), [None, -math.inf, -1.0, -0.0, 0.0, math.inf, math.nan]),
        (pa.string(), [None, "", "a", "a\0", "ab", "b", "\uffff", "\U0001f600"]),
        (pa.binary(), [None, b"", b"\x00", b"\x7f", b"\x80"]),
        (pa.timestamp("ns"), [None, -1, 0, 1]),
        (pa.bool_(), [None, False, True]),
        # As Paimon 1.4.2 answers, every pair of them.
        (
            pa.list_(pa.int32()),
            [None, [], [None], [None, 5], [-1, 7, 7], [1], [1, None], [1, 1], [2]],
        ),
        (
            ROW,
            [
                None,
                {"a": None, "b": None},
                {"a": None, "b": "z"},
                {"a": 0, "b": "zz"},
                {"a": 1, "b": None},
                {"a": 1, "b": ""},
                {"a": 1, "b": "a"},
            ],
        ),
        (
            pa.list_(ROW),
            [[], [None], [{"a": None, "b": None}], [{"a": 1, "b": "a"}], [{"a": 1, "b": "b"}]],
        ),
        (pa.list_(pa.timestamp("ns")), [[], [None], [-1], [-1, 0], [1]]),
        (
            pa.map_(pa.int32(), pa.int32()),
            [None, [], [(1, None)], [(1, 7)], [(2, 0)], [(1, 9), (2, 9)], [(2, 9), (1, 9)]],
        ),
        (pa.list_(pa.map_(pa.string(), ROW)), [[], [None], [[]], [[("a", None)]]]),
        (pa.struct([]), [None, {}]),
    ],
    ids=str,
)
def test_both_machines_order_values_as_the_format_says(
    kind: pa.DataType, ascending: list[object]
) -> None:
    whole = pa.array(ascending, kind)
    column = pa.chunked_array([whole.slice(0, 2), whole.slice(2)])

    values = order_values(column)
    codes = key_codes([column]).tolist()

    assert values == sorted(values)
    assert codes == sorted(codes)
    assert len(set(values)) == len(set(codes)) == len(ascending)


SETTINGS = settings(max_examples=100)


@st.composite
def typed_columns(draw: st.DrawFn) -> pa.ChunkedArray:
    data_type = draw(TYPES)
    values = draw(st.lists(values_of(data_type), max_size=8))
    whole = plain_array(values, to_arrow_type(data_type))
    cut = draw(st.integers(0, len(values)))
    return pa.chunked_array([whole[:cut], whole[cut:]])


@SETTINGS
@given(typed_columns())
def test_codes_order_rows_as_values_do(column: pa.ChunkedArray) -> None:
    values = order_values(column)

    codes = key_codes([column]).tolist()

    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    order = {code: rank for rank, code in enumerate(sorted(set(codes)))}
    assert [order[code] for code in codes] == [ranks[value] for value in values]


@SETTINGS
@given(typed_columns())
def test_descending_turns_all_but_null_round(column: pa.ChunkedArray) -> None:
    values = order_values(column)

    codes = key_codes([column], descending=True).tolist()

    present = sorted({value for value in values if value}, reverse=True)
    ranks = {value: rank for rank, value in enumerate([(), *present])}
    order = {code: rank for rank, code in enumerate(sorted(set(codes)))}
    found = {value: order[code] for value, code in zip(values, codes, strict=True)}
    assert sorted(found, key=found.__getitem__) == sorted(found, key=ranks.__getitem__)
    assert len(set(found.values())) == len(found)


@SETTINGS
@given(typed_columns(), st.integers(0, 8), st.integers(0, 8))
def test_a_slice_has_the_order_of_its_rows(column: pa.ChunkedArray, start: int, stop: int) -> None:
    assert order_values(column[start:stop]) == order_values(column)[start:stop]


@SETTINGS
@given(typed_columns().filter(lambda column: not pa.types.is_nested(column.type)))
def test_a_plain_value_alone_has_the_order_of_its_column(column: pa.ChunkedArray) -> None:
    """The exact functions order values one by one, `order_values` orders whole columns."""
    part = ordering(column.type)
    values, ranks = plain_values(column), order_values(column)

    for one, rank in zip(values, ranks, strict=True):
        for other, other_rank in zip(values, ranks, strict=True):
            assert (part(one) < part(other)) == (rank < other_rank)
            assert (part(one) == part(other)) == (rank == other_rank)
