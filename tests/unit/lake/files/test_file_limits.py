import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.files.file_limits import check_file_limits


def unscaled(precision: int, *values: int) -> pa.ChunkedArray:
    """Return DECIMAL(precision, 2) values, however large, and a null."""
    data = b"".join(value.to_bytes(16, "little", signed=True) for value in (*values, 0))
    validity = pa.array([True] * len(values) + [False]).buffers()[0]
    kind = pa.decimal128(precision, 2)
    array = pa.Array.from_buffers(kind, len(values) + 1, [validity, pa.py_buffer(data)])
    return pa.chunked_array([array])


def refuse(column: pa.ChunkedArray, *, nullable: bool = True) -> None:
    target = pa.schema([pa.field("c", column.type, nullable=nullable)])
    check_file_limits(pa.Table.from_arrays([column], names=["c"]), target)


LIMITS = [(4, 1 << 31), (9, 1 << 31), (10, 1 << 63), (18, 1 << 63), (19, 10**19), (38, 10**38)]


@pytest.mark.parametrize(("precision", "limit"), LIMITS)
def test_decimals_of_more_digits_are_kept_while_the_storage_holds_them(
    precision: int, limit: int
) -> None:
    refuse(unscaled(precision, limit - 1, -limit + (precision > 18), 0))


@pytest.mark.parametrize(("precision", "limit"), LIMITS)
@pytest.mark.parametrize("sign", [1, -1])
def test_larger_decimals_are_refused_not_wrapped(precision: int, limit: int, sign: int) -> None:
    beyond = limit if sign > 0 else -limit - (precision <= 18)

    with pytest.raises(SchemaMismatch, match=rf"c: DECIMAL\({precision}, 2\) is too narrow"):
        refuse(unscaled(precision, 1, beyond))


def test_null_in_a_not_null_column_is_refused() -> None:
    column = pa.chunked_array([pa.array([1, None], pa.int32())])

    refuse(column)
    with pytest.raises(SchemaMismatch, match=r"c: the column is NOT NULL.*1 of 2 rows"):
        refuse(column, nullable=False)
