import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.lsm.column_equality import equal_values
from braid.lake.merge.functions.support.value_equality import identity
from braid.lake.merge.plain_values import plain_array
from tests.support.typed_values import TYPES, values_of


@st.composite
def pairs(draw: st.DrawFn) -> tuple[pa.DataType, list[object], list[object]]:
    """Draw a type and two columns of it; about half of the values are their partners'."""
    kind = draw(TYPES)
    left = draw(st.lists(values_of(kind), min_size=1, max_size=6))
    right = [value if draw(st.booleans()) else draw(values_of(kind)) for value in left]
    return to_arrow_type(kind), left, right


@given(pairs())
def test_columns_are_compared_as_single_values_are(
    pair: tuple[pa.DataType, list[object], list[object]],
) -> None:
    kind, left, right = pair
    same = identity(kind)
    expected = [same(one) == same(other) for one, other in zip(left, right, strict=True)]

    found = equal_values(plain_array(left, kind), plain_array(right, kind))

    assert found.tolist() == expected


@given(pairs(), st.integers(0, 3))
def test_slices_and_chunks_are_compared_as_what_they_show(
    pair: tuple[pa.DataType, list[object], list[object]], start: int
) -> None:
    kind, left, right = pair
    one = pa.chunked_array([plain_array(left[:1], kind), plain_array(left[1:], kind)]).slice(start)
    other = plain_array(right, kind).slice(start)

    whole = equal_values(plain_array(left, kind), plain_array(right, kind))

    assert equal_values(one, other).tolist() == whole[start:].tolist()


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        pytest.param(pa.float64(), [0.0], [-0.0], False, id="zeros"),
        pytest.param(pa.float32(), [float("nan")], [float("nan")], True, id="nan"),
        pytest.param(pa.string(), [None], [""], False, id="null is no text"),
        pytest.param(pa.string(), [None], [None], True, id="nulls"),
        pytest.param(
            pa.map_(pa.string(), pa.int32()),
            [[("a", 1), ("b", 2)]],
            [[("b", 2), ("a", 1)]],
            True,
            id="entries have no order",
        ),
        pytest.param(
            pa.map_(pa.string(), pa.int32()),
            [[("a", 1), ("b", 2)]],
            [[("b", 1), ("a", 2)]],
            False,
            id="but belong together",
        ),
        pytest.param(pa.list_(pa.int32()), [[1, 2]], [[2, 1]], False, id="elements have"),
        pytest.param(pa.list_(pa.int32()), [[]], [None], False, id="empty is not null"),
    ],
)
def test_equal_values(
    kind: pa.DataType, left: list[object], right: list[object], expected: bool
) -> None:
    assert equal_values(pa.array(left, kind), pa.array(right, kind)).tolist() == [expected]
