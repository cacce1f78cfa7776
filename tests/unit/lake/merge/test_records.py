import math

import pyarrow as pa
import pytest

from lake.merge.records import order_values, records_of
from lake.merge.spec import MergeSpec
from lake.options import MergeEngine
from tests.unit.lake.merge.given_records import given_records


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        (pa.float64(), [None, -math.inf, -1.0, -0.0, 0.0, math.inf, math.nan]),
        (pa.string(), [None, "", "a", "a\0", "ab", "b", "\uffff", "\U0001f600"]),
        (pa.binary(), [None, b"", b"\x00", b"\x7f", b"\x80"]),
        (pa.timestamp("ns"), [None, -1, 0, 1]),
        (pa.bool_(), [None, False, True]),
    ],
    ids=str,
)
def test_order_values_ascend_as_the_format_says(kind: pa.DataType, ascending: list[object]) -> None:
    values = order_values(pa.chunked_array([pa.array(ascending, kind)]))

    assert values == sorted(values)
    assert len(set(values)) == len(values)


def test_only_columns_that_order_are_read_as_values() -> None:
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), sequence_fields=("s",))
    records = records_of(given_records("k s v", "+I 1 2 _"), spec)

    assert set(records.order_values) == {"k", "s"}
    assert records.cell("v", 0) == -1
    assert records.cell("s", 0) == 0
