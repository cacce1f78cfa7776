import decimal

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.merge.selection import Pick

SAMPLES: dict[pa.DataType, list[object]] = {
    pa.int8(): [1, None, 3],
    pa.int64(): [2**62, 5, 7],
    pa.float32(): [0.5, None, -1.0],
    pa.date32(): [1, 2, None],
    pa.timestamp("us", tz="UTC"): [0, None, 5],
    pa.bool_(): [True, None, False],
    pa.string(): ["a", None, "c"],
    pa.decimal128(5, 2): [decimal.Decimal("1.25"), None, None],
    pa.list_(pa.int32()): [[1], None, []],
    pa.int16(): [None, None, None],
}


@pytest.mark.parametrize("rows", [[2, 0, 0, 1], [1, -1, 2], [-1], []], ids=str)
@pytest.mark.parametrize("kind", SAMPLES, ids=str)
def test_picks_take_what_arrow_takes(kind: pa.DataType, rows: list[int]) -> None:
    whole = pa.array([None, *SAMPLES[kind]], kind)
    column = pa.chunked_array([whole.slice(1)])
    indices = pa.array([None if row < 0 else row for row in rows], pa.int64())

    taken = Pick(rows=np.array(rows, dtype=np.int64)).take(column)

    taken.validate(full=True)
    assert taken.equals(column.take(indices).combine_chunks())
    assert taken.null_count == column.take(indices).null_count
