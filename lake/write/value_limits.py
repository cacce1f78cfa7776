"""Values that have a column's Arrow type and still are not the column's: too long, out of range.

Only columns whose declaration sets a limit are looked at, whole columns at a time; text is checked
to be UTF-8, because readers in other languages fail on anything else.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lake.errors import Problem
from lake.format.data_types import LENGTH_MAX, TIMESTAMP_ROOTS, DataField, DataType, TypeRoot
from lake.format.partition_path import escape

_NAME_BYTES_MAX = 255
_SHOWN_MAX = 60
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_DAY_MS = 86_400_000
_PER_DAY = {"ms": _DAY_MS, "us": _DAY_MS * 1_000}


def limit_problems(
    column: pa.ChunkedArray, field: DataField, *, is_partition: bool
) -> Iterator[Problem]:
    """Yield the first value that the column may not have, with its row; nothing when all may.

    Args:
        column: In the Arrow form of the field's type.
        field: Of the table.
        is_partition: Whether the values become names of directories.
    """
    root = field.type.root
    if root in (TypeRoot.CHAR, TypeRoot.VARCHAR):
        yield from _text_problems(column, field, is_partition=is_partition)
    elif root in (TypeRoot.BINARY, TypeRoot.VARBINARY):
        limit = field.type.length or LENGTH_MAX
        if limit < LENGTH_MAX:
            too_long = pc.greater(pc.binary_length(column), limit)
            yield from _first(too_long, column, field, f"the limit is {limit} bytes")
    elif root is TypeRoot.DATE:
        yield from _range_problems(column, field, pa.int32(), _FIRST_DAY, _LAST_DAY)
    elif root in TIMESTAMP_ROOTS and column.type.unit in _PER_DAY:
        per_day = _PER_DAY[column.type.unit]
        last = (_LAST_DAY + 1) * per_day - 1
        yield from _range_problems(column, field, pa.int64(), _FIRST_DAY * per_day, last)
    elif field.type.is_nested and _has_not_null(field.type):
        rows = pa.array(range(len(column)), pa.int64())
        yield from _nested_nulls(column.combine_chunks(), rows, field.type, field.name)


def _text_problems(
    column: pa.ChunkedArray, field: DataField, *, is_partition: bool
) -> Iterator[Problem]:
    try:
        for chunk in column.chunks:
            chunk.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        yield from _first_not_utf8(column, field)
        return
    limit = field.type.length or LENGTH_MAX
    if limit < LENGTH_MAX:
        too_long = pc.greater(pc.utf8_length(column), limit)
        yield from _first(too_long, column, field, f"the limit is {limit} characters")
    if is_partition:
        room = _NAME_BYTES_MAX - len(escape(field.name).encode()) - 1
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        if longest * 3 > room:  # an escaped byte takes three
            values = column.unique().drop_null().to_pylist()
            wide = [value for value in values if len(escape(value).encode()) > room]
            too_wide = pc.is_in(column, value_set=pa.array(wide, pa.string()))
            message = f"the partition's directory can have {room} bytes of it, escapes included"
            yield from _first(too_wide, column, field, message)


def _first_not_utf8(column: pa.ChunkedArray, field: DataField) -> Iterator[Problem]:
    for row, value in enumerate(column.cast(pa.binary()).to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError:
            message = f"row {row}: the text is not UTF-8"
            yield Problem(field=field.name, value=repr(value[:_SHOWN_MAX]), message=message)
            return


def _range_problems(
    column: pa.ChunkedArray, field: DataField, plain: pa.DataType, low: int, high: int
) -> Iterator[Problem]:
    numbers = column.cast(plain)
    bounds = pc.min_max(numbers).as_py()
    if bounds["min"] is None or (bounds["min"] >= low and bounds["max"] <= high):
        return
    outside = pc.or_(pc.less(numbers, low), pc.greater(numbers, high))
    message = "expected a year from 1 to 9999 (counted from 1970-01-01)"
    yield from _first(outside, numbers, field, message)


def _first(
    mask: pa.ChunkedArray, shown: pa.ChunkedArray, field: DataField, message: str
) -> Iterator[Problem]:
    row = pc.index(pc.fill_null(mask, False), True).as_py()
    if row >= 0:
        value = str(shown[row].as_py())
        cut = value if len(value) <= _SHOWN_MAX else f"{value[:_SHOWN_MAX]}…"
        text = f"row {row}: the value does not fit {field.type}, {message}"
        yield Problem(field=field.name, value=cut, message=text)


def _has_not_null(data_type: DataType) -> bool:
    inner = [data_type.element, data_type.value, *(field.type for field in data_type.fields)]
    return any(part and (not part.nullable or _has_not_null(part)) for part in inner)


def _nested_nulls(
    array: pa.Array, rows: pa.Array, data_type: DataType, path: str
) -> Iterator[Problem]:
    """Yield nulls inside nested values that are NOT NULL; `rows` says each value's row."""
    present = array.is_valid()
    array, rows = array.filter(present), rows.filter(present)
    parts: list[tuple[str, DataType | None, pa.Array, pa.Array]] = []
    if data_type.root is TypeRoot.ROW:
        parts = [
            (f"{path}.{field.name}", field.type, pc.struct_field(array, index), rows)
            for index, field in enumerate(data_type.fields)
        ]
    elif data_type.root is TypeRoot.ARRAY:
        inner_rows = rows.take(pc.list_parent_indices(array))
        parts = [(f"{path}.element", data_type.element, array.flatten(), inner_rows)]
    elif data_type.root is TypeRoot.MAP:
        entries = array.cast(
            pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)]))
        )
        inner_rows = rows.take(pc.list_parent_indices(entries))
        values = pc.struct_field(entries.flatten(), 1)
        parts = [(f"{path}.value", data_type.value, values, inner_rows)]
    for name, part, values, inner_rows in parts:
        if part is None:
            continue
        if not part.nullable and values.null_count:
            row = inner_rows[pc.index(values.is_null(), True).as_py()].as_py()
            message = f"row {row}: {name} is NOT NULL ({values.null_count} nulls)"
            yield Problem(field=path.split(".", maxsplit=1)[0], value="null", message=message)
        elif part.is_nested and _has_not_null(part):
            yield from _nested_nulls(values, inner_rows, part, name)
