from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.merge.functions.support.number_columns import (
    decimal_column,
    halves_of,
    number_column,
    numbers_of,
    sign_of,
)

KINDS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_numbers_come_and_go(kind: pa.DataType) -> None:
    column = pa.array([9, -1, None, 3], kind).slice(1)

    values = numbers_of(column)
    assert values[[0, 2]].tolist() == [-1, 3]
    wide = values.astype(np.float64 if pa.types.is_floating(kind) else np.int64)
    again = number_column(wide, np.array([True, False, True]), kind)
    again.validate(full=True)
    assert again.equals(column)


def test_decimals_come_and_go_in_halves() -> None:
    kind = pa.decimal128(38, 2)
    values = [Decimal("1.00"), Decimal("-0.01"), None, Decimal("-" + "9" * 36 + ".99")]
    column = pa.array(values, kind).slice(1)

    low, high = halves_of(column)
    again = decimal_column(low, high, np.array([True, False, True]), kind)
    again.validate(full=True)
    assert again.equals(column)
    assert (sign_of(low) == high).tolist() == [True, True, False]


def test_a_column_without_nulls_has_no_bitmap() -> None:
    column = number_column(np.array([1, 2]), None, pa.int64())

    assert column.null_count == 0
    assert column.buffers()[0] is None
