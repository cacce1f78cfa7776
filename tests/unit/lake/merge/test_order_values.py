import math

import pyarrow as pa
import pytest

from lake.errors import UnsupportedFeature
from lake.merge.key_order import key_codes
from lake.merge.order_values import has_order, order_values

ROW = pa.struct([("a", pa.int32()), ("b", pa.string())])
NESTED_MAP = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.int32()))]))


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


@pytest.mark.parametrize("kind", [pa.map_(pa.int32(), pa.int32()), NESTED_MAP], ids=str)
def test_maps_have_no_order_wherever_they_are(kind: pa.DataType) -> None:
    assert not has_order(kind)
    with pytest.raises(UnsupportedFeature, match="not supported"):
        order_values(pa.array([], kind))
