"""Limits of column types that Arrow types do not have: lengths, ranges, and NOT NULL inside nested values.

Types whose Arrow form has the same limits or narrower ones (whole numbers, floats, BOOLEAN,
timestamps of nanoseconds) are not checked. All other types are checked, a whole column at once; in
a nested column, all values of one path at once. Text has to be UTF-8, because readers in other
languages fail on anything else. The keys of a MAP may not be null, and no key may occur twice;
nested keys are not compared. A text in a partition column may not be too long for the name of the
partition's directory. Fractional digits of a second beyond the declared precision are kept if
Arrow's unit has them, as in the reference: a TIME(0) has milliseconds, and so does a TIMESTAMP(0).
No error is raised; the result has the first value of each part of a column that breaks a limit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import Problem
from braid.lake.format.arrow_types import elements
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    LENGTH_MAX,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataField,
    DataType,
    TypeRoot,
)
from braid.lake.format.partition_path import escape
from braid.lake.format.variant import layout

_NAME_BYTES_MAX = 255
_SHOWN_MAX = 60
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_DAY_MS = 86_400_000
_PER_DAY = {"ms": _DAY_MS, "us": _DAY_MS * 1_000}
_COUNT = DataType(root=TypeRoot.INT, nullable=False)
_YEARS = "expected a year from 1 to 9999 (counted from 1970-01-01)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitBreach:
    """A value that its column's type does not allow.

    Attributes:
        column: Name of the column.
        row: Index of the row.
        value: The value as text, shortened for a message.
        message: What is wrong with the value, and the limit.
    """

    column: str
    row: int
    value: str
    message: str

    def problem(self) -> Problem:
        """Return the problem of the row."""
        return Problem(
            field=self.column, value=self.value, message=f"row {self.row}: {self.message}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A column, or all values of one path inside a nested column.

    Attributes:
        path: `column`, `column.element`, `column.value.field` ...
        type: Declared type at the path.
        values: The values, in the Arrow form of the type.
        row_of: Returns the row of the value at an index.
    """

    path: str
    type: DataType
    values: pa.Array | pa.ChunkedArray
    row_of: Callable[[int], int]

    def breach(self, index: int, shown: object, message: str) -> LimitBreach:
        """Return the breach of the value at an index."""
        column, _, inside = self.path.partition(".")
        value = str(shown)
        cut = value if len(value) <= _SHOWN_MAX else f"{value[:_SHOWN_MAX]}…"
        subject = self.path if inside else "the value"
        return LimitBreach(
            column=column, row=self.row_of(index), value=cut, message=f"{subject} {message}"
        )

    def first(self, is_wrong: pa.Array | pa.ChunkedArray, limit: str) -> Iterator[LimitBreach]:
        """Yield the breach of the first wrong value, if there is one."""
        index = pc.index(is_wrong, True).as_py()
        if index >= 0:
            shown = self.values[index]
            if pa.types.is_temporal(shown.type):  # Python's dates do not have every year
                shown = shown.cast(pa.int32() if shown.type.bit_width == 32 else pa.int64())
            message = f"does not fit {self.type}, {limit}"
            yield self.breach(index, shown.as_py(), message)


def limit_problems(
    column: pa.ChunkedArray, field: DataField, *, is_partition: bool
) -> Sequence[Problem]:
    """Return the breaches of `limit_breaches` as problems."""
    return [found.problem() for found in limit_breaches(column, field, is_partition=is_partition)]


def limit_breaches(
    column: pa.ChunkedArray, field: DataField, *, is_partition: bool
) -> Sequence[LimitBreach]:
    """Return, for each part of the column, the first value that its type does not allow.

    Args:
        column: Values in the Arrow form of the field's type.
        field: The column of the table.
        is_partition: Whether the values become names of directories.
    """
    part = _Part(path=field.name, type=field.type, values=column, row_of=int)
    breaches = list(_breaches(part))
    if not breaches and is_partition and field.type.root in TEXT_ROOTS:
        breaches += _name_breaches(part)
    return breaches


def _breaches(part: _Part) -> Iterator[LimitBreach]:
    root = part.type.root
    if part.type.is_nested:
        if _has_limit(part.type):
            yield from _nested_breaches(part)
    elif root is TypeRoot.VARIANT:
        yield from _variant_breaches(part)
    elif root in TEXT_ROOTS:
        yield from _text_breaches(part)
    elif root in BYTES_ROOTS:
        limit = part.type.length or LENGTH_MAX
        if limit < LENGTH_MAX:
            too_long = pc.greater(pc.binary_length(part.values), limit)
            yield from part.first(too_long, f"the limit is {limit} bytes")
    elif root is TypeRoot.DECIMAL:
        yield from _decimal_breaches(part)
    elif root is TypeRoot.DATE:
        yield from _range_breaches(part, pa.int32(), _FIRST_DAY, _LAST_DAY, _YEARS)
    elif root is TypeRoot.TIME:
        yield from _range_breaches(
            part, pa.int32(), 0, _DAY_MS - 1, "expected milliseconds of one day, 0 to 86399999"
        )
    elif root in TIMESTAMP_ROOTS and part.values.type.unit in _PER_DAY:
        per_day = _PER_DAY[part.values.type.unit]
        last = (_LAST_DAY + 1) * per_day - 1
        yield from _range_breaches(part, pa.int64(), _FIRST_DAY * per_day, last, _YEARS)


def _variant_breaches(part: _Part) -> Iterator[LimitBreach]:
    """Yield values that no reader opens; whether the rest of the bytes is a value is not checked."""
    values = part.values
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    value, metadata = array.flatten()
    first = pc.binary_slice(metadata, 0, 1)
    is_known = pc.is_in(first, value_set=_variant_versions())
    lengths = [pc.binary_length(value), pc.binary_length(metadata)]
    is_small = pc.less_equal(pc.max_element_wise(*lengths), layout.SIZE_MAX)
    fits = pc.and_(pc.and_(is_known, is_small), pc.greater(lengths[0], 0))
    outside = pc.and_(array.is_valid(), pc.invert(pc.fill_null(fits, False)))
    if pc.any(outside).as_py():
        index = pc.index(outside, True).as_py()
        yield part.breach(index, "bytes", "is no VARIANT value of version 1 of at most 128 MiB")


@cache
def _variant_versions() -> pa.Array:
    """Return the first bytes of metadata of the version that is read.

    Not when the module is imported: Arrow would load pandas (`service/http/arrow_without_pandas`).
    """
    known = (byte for byte in range(256) if byte & 0x0F == layout.VERSION)
    return pa.array([bytes((byte,)) for byte in known], pa.binary())


def _text_breaches(part: _Part) -> Iterator[LimitBreach]:
    values = part.values
    try:
        for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
            chunk.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        yield from _first_not_utf8(part)
        return
    limit = part.type.length or LENGTH_MAX
    if limit < LENGTH_MAX:
        too_long = pc.greater(pc.utf8_length(values), limit)
        yield from part.first(too_long, f"the limit is {limit} characters")


def _first_not_utf8(part: _Part) -> Iterator[LimitBreach]:
    for index, value in enumerate(part.values.cast(pa.binary()).to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError:
            yield part.breach(index, repr(value[:_SHOWN_MAX]), "is not UTF-8 text")
            return


def _name_breaches(part: _Part) -> Iterator[LimitBreach]:
    room = _NAME_BYTES_MAX - len(escape(part.path).encode()) - 1
    longest = pc.max(pc.binary_length(part.values)).as_py() or 0
    # Shorter values fit in any case: an escaped byte takes three bytes, and no value has more.
    if longest * 3 > room:
        values = part.values.unique().drop_null().to_pylist()
        wide = [value for value in values if len(escape(value).encode()) > room]
        too_wide = pc.is_in(part.values, value_set=pa.array(wide, pa.string()))
        limit = (
            f"the name of the partition's directory has room for {room} bytes of the value, "
            "escapes included"
        )
        yield from part.first(too_wide, limit)


def _decimal_breaches(part: _Part) -> Iterator[LimitBreach]:
    # Arrow's own arithmetic and casts respect the precision, but other code that fills buffers may not;
    # in a file such a number would lose its upper digits.
    kind = part.values.type
    bound = Decimal((0, (9,) * kind.precision, -kind.scale))
    found = pc.min_max(part.values).as_py()
    if found["min"] is None or (found["min"] >= -bound and found["max"] <= bound):
        return
    most = pa.scalar(bound, kind)
    outside = pc.or_(pc.less(part.values, pc.negate(most)), pc.greater(part.values, most))
    yield from part.first(outside, f"the limit is {kind.precision} digits")


def _range_breaches(
    part: _Part, plain: pa.DataType, low: int, high: int, limit: str
) -> Iterator[LimitBreach]:
    numbers = part.values.cast(plain)
    bounds = pc.min_max(numbers).as_py()
    if bounds["min"] is None or (bounds["min"] >= low and bounds["max"] <= high):
        return
    yield from part.first(pc.or_(pc.less(numbers, low), pc.greater(numbers, high)), limit)


def _has_limit(data_type: DataType) -> bool:
    """Return whether the type has a limit that its Arrow form does not enforce."""
    match data_type.root:
        case TypeRoot.ROW:
            inner = [field.type for field in data_type.fields]
            return any(not part.nullable or _has_limit(part) for part in inner)
        case TypeRoot.ARRAY:
            element = data_type.element
            return element is not None and (not element.nullable or _has_limit(element))
        case TypeRoot.MAP | TypeRoot.MULTISET:
            return True  # keys are not null
        case TypeRoot.BOOLEAN | TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return False
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return False
        case _:
            return True


def _nested_breaches(part: _Part) -> Iterator[LimitBreach]:
    values = part.values
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    for inner in _parts(part, array):
        nulls = inner.values.is_null()
        if part.type.root is TypeRoot.ROW:
            # A field below a null ROW is not missing.
            nulls = pc.and_(nulls, array.is_valid())
        count = 0 if inner.type.nullable or not inner.values.null_count else pc.sum(nulls).as_py()
        if count:
            index = pc.index(nulls, True).as_py()
            yield inner.breach(index, "null", f"is NOT NULL ({count} nulls)")
        else:
            yield from _breaches(inner)
    if part.type.root in (TypeRoot.MAP, TypeRoot.MULTISET):
        yield from _repeated_keys(part, array)


def _repeated_keys(part: _Part, array: pa.Array) -> Iterator[LimitBreach]:
    """Yield the first key that a map has twice: readers would keep one of its values and lose the other.

    Nested keys are not checked, because Arrow cannot compare them.
    """
    keys = elements(array).field(0)
    if pa.types.is_nested(keys.type) or not len(keys):
        return
    numbers = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(array)), _lengths(array))
    pairs = rows * (numbers.max() + 1) + numbers
    order = np.argsort(pairs, kind="stable")
    again = order[1:][pairs[order[1:]] == pairs[order[:-1]]]
    if len(again):
        index = int(again.min())
        row = int(rows[index])
        yield part.breach(row, keys[index].as_py(), "has this key more than once")


def _lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return the number of elements of each list or map, 0 for null."""
    return np.where(np.asarray(array.is_valid()), np.diff(np.asarray(array.offsets)), 0)


def _parts(part: _Part, array: pa.Array) -> Iterator[_Part]:
    """Yield the parts of a nested column: the fields, the elements, or keys and values."""
    declared = part.type
    if declared.root is TypeRoot.ROW:
        for field, values in zip(declared.fields, array.flatten(), strict=True):
            path = f"{part.path}.{field.name}"
            yield _Part(path=path, type=field.type, values=values, row_of=part.row_of)
        return

    def row_of(index: int) -> int:
        ends = np.cumsum(_lengths(array))
        return part.row_of(int(np.searchsorted(ends, index, side="right")))

    inside = elements(array)
    if declared.root is TypeRoot.ARRAY:
        assert declared.element is not None
        path = f"{part.path}.element"
        yield _Part(path=path, type=declared.element, values=inside, row_of=row_of)
        return
    key = declared.key or declared.element
    assert key is not None
    for name, kind, values in (
        ("key", key.with_nullable(False), inside.field(0)),
        ("value", declared.value or _COUNT, inside.field(1)),
    ):
        yield _Part(path=f"{part.path}.{name}", type=kind, values=values, row_of=row_of)
