import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import DataType
from braid.lake.merge.plain_values import plain_array, plain_values
from tests.support.typed_values import TYPES, values_of

SETTINGS = settings(max_examples=100)
NOT_NULL_DAY = pa.struct([pa.field("day", pa.date32(), nullable=False)])
DAYS_IN_ROWS = pa.list_(pa.struct([("day", pa.date32())]))
EMPTY = pa.struct([])


@st.composite
def typed_columns(draw: st.DrawFn) -> tuple[DataType, list[object]]:
    data_type = draw(TYPES)
    return data_type, draw(st.lists(values_of(data_type), max_size=6))


@SETTINGS
@given(typed_columns())
def test_values_become_an_array_and_come_back(column: tuple[DataType, list[object]]) -> None:
    data_type, values = column

    array = plain_array(values, to_arrow_type(data_type))

    array.validate(full=True)
    assert array.type.equals(to_arrow_type(data_type))
    # Text, for NaN equals nothing and both zeros are equal.
    assert repr(plain_values(array)) == repr(values)


@SETTINGS
@given(typed_columns(), st.integers(0, 6), st.integers(0, 6))
def test_a_slice_has_the_values_of_its_rows(
    column: tuple[DataType, list[object]], start: int, stop: int
) -> None:
    data_type, values = column
    array = plain_array(values, to_arrow_type(data_type))

    assert repr(plain_values(array[start:stop])) == repr(values[start:stop])
    chunks = pa.chunked_array([array[:start], array[start:]])
    assert repr(plain_values(chunks)) == repr(values)


@SETTINGS
@given(typed_columns(), st.lists(st.integers(0, 5), max_size=6))
def test_taken_rows_have_the_values_of_the_rows(
    column: tuple[DataType, list[object]], rows: list[int]
) -> None:
    data_type, values = column
    rows = [row for row in rows if row < len(values)]

    taken = plain_array(values, to_arrow_type(data_type)).take(pa.array(rows, pa.int64()))

    assert repr(plain_values(taken)) == repr([values[row] for row in rows])


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (pa.date32(), dt.date(1970, 1, 2), 1),
        (pa.time32("ms"), dt.time(0, 0, 1), 1_000),
        (pa.timestamp("us", "UTC"), dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), 1_000_000),
        (pa.timestamp("ns"), 2**62, 2**62),
        (pa.decimal128(38, 1), Decimal("-1.5"), Decimal("-1.5")),
        (pa.list_(pa.date32()), [dt.date(1970, 1, 2), None], [1, None]),
        (NOT_NULL_DAY, {"day": dt.date(1970, 1, 2)}, (1,)),
        (pa.map_(pa.date32(), EMPTY), [(dt.date(1970, 1, 2), {})], [(1, ())]),
    ],
    ids=str,
)
def test_each_kind_has_its_plain_form(kind: pa.DataType, value: object, plain: object) -> None:
    array = pa.array([None, value], kind)

    assert plain_values(array) == [None, plain]
    assert plain_array([None, plain], kind).equals(array)


@pytest.mark.parametrize(
    "kind", [EMPTY, NOT_NULL_DAY, pa.struct([("e", EMPTY), ("d", pa.date32())])], ids=str
)
def test_a_null_row_is_no_row_of_nulls(kind: pa.DataType) -> None:
    nulls = (None,) * kind.num_fields
    values = [None, nulls, None] if kind != NOT_NULL_DAY else [None, (1,), None]

    array = plain_array(values, kind)

    assert array.is_null().to_pylist() == [True, False, True]
    assert plain_values(array) == values
    assert plain_values(array.slice(1)) == values[1:]


def test_elements_under_null_and_entries_with_an_offset_are_passed_over() -> None:
    """Buffers may hold elements that belong to no value: under null, and before the first one."""
    entries = pa.StructArray.from_arrays(
        [pa.array([9, 1, 2, 3]), pa.array(["z", "a", "b", "c"])],
        fields=[pa.field("key", pa.int64(), nullable=False), pa.field("value", pa.string())],
    )
    offsets = pa.array([0, 1, 2, 3], pa.int32()).buffers()[1]
    validity = pa.array([True, None, True]).buffers()[0]

    column = pa.Array.from_buffers(
        pa.map_(pa.int64(), pa.string()), 3, [validity, offsets], children=[entries.slice(1)]
    )

    assert plain_values(column) == [[(1, "a")], None, [(3, "c")]]
    assert plain_values(column.slice(2)) == [[(3, "c")]]


def test_a_decimal_may_have_more_digits_than_its_type_declares() -> None:
    kind = pa.struct([("d", pa.list_(pa.decimal128(4, 2)))])
    values = [([Decimal("199.98"), None, Decimal("9" * 36 + ".99")],), None]

    array = plain_array(values, kind)

    assert array.type == kind
    assert plain_values(array) == values


def test_a_value_that_does_not_fit_the_type_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        plain_array([Decimal("1.234")], pa.decimal128(4, 2))
    with pytest.raises(pa.ArrowInvalid):
        plain_array([Decimal("1" * 37 + ".50")], pa.decimal128(4, 2))
    with pytest.raises(pa.ArrowInvalid):
        plain_array([128], pa.int8())


def test_small_slices_of_a_large_column_hold_their_own_rows() -> None:
    # Looking at the whole column for each takes minutes, beyond the limit of a test.
    column = plain_array([[(n,)] for n in range(200_000)], DAYS_IN_ROWS)

    shown = [plain_values(column.slice(row, 1)) for row in range(0, 200_000, 20)]

    assert shown[7] == [[(140,)]]
    assert len(shown) == 10_000
