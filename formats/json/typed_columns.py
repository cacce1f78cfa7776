"""Typed columns: for each column type, the msgspec type that decodes its values, and their conversion to an Arrow array.

| column | decoded as | then |
|---|---|---|
| BOOLEAN, integers, FLOAT, DOUBLE | boolean or number within its bounds | |
| CHAR, VARCHAR | text within its length; or JSON text, if messages have other values than texts in it, too | |
| BINARY, VARBINARY | base64 text within its length | |
| VARCHAR whose values are usually numbers (`MappedColumn.takes_scalars`) | JSON text | |
| BYTES that get the JSON text of any value (`MappedColumn.keeps_json`) | JSON text | |
| DATE, TIME, TIMESTAMP of either kind | text | `formats.times` |
| DECIMAL | JSON text, because msgspec also accepts texts that are no decimals | `formats.text_values` |
| ARRAY | list of its element's values | one array for the values of all lists |
| ROW | struct of its fields' values | one array for each field |
| VARIANT | JSON text | `lake.variant_of_json` |
| MAP, and types that contain a MAP | JSON text, because msgspec drops one of two equal keys without an error | `json.exact_values` |

The decoded values are the same as those of the exact reader (`json.exact_values`). The positions of values that
only the exact reader can decide are returned; the array's values at these positions are arbitrary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows, rows_where
from braid.formats.json.exact_values import FLOAT_MAX, ValueFault, exact_value
from braid.formats.json.message import NUMBER_CHARACTERS_MAX, read_message
from braid.formats.text_values import plain_values
from braid.formats.times import DATE_AND_TIME_TYPES, time_array
from braid.formats.type_bounds import INTEGER_BOUND, length_bound
from braid.lake import (
    VARIANT_TYPE,
    DataType,
    TypeRoot,
    parse_type,
    to_arrow_type,
    variant_of_json,
)

_STRING: Final = parse_type("STRING")
_USUAL_NUMBER: Final = r"^(0|-?[1-9][0-9]{0,30})(\.[0-9]{1,30})?$"
_PLAIN_TEXT: Final = r'^"[^"\\]*"$'
NULL: Final = msgspec.Raw(b"null")
_MISSING: Final = msgspec.Raw(b"")
"""The mark of a VARIANT whose field the message does not have: null of JSON is a value of the type."""
_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_DECODE_TEXT: Final = msgspec.json.Decoder(str).decode

Built: TypeAlias = tuple[pa.Array, Sequence[int]]
"""An array, and the positions of values that only the exact reader can decide; what the array has there does not count."""


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """How the values of a type are decoded.

    Attributes:
        kind: The type for msgspec, null included where the type is nullable.
        default: What stands for a value that the message does not have.
        build: Makes the array of a list of decoded values.
        is_raw: Whether values are decoded to their JSON text.
    """

    kind: Any
    default: Any
    build: Callable[[Sequence[Any]], Built]
    is_raw: bool = False


def is_text(data_type: DataType) -> bool:
    """Return whether a column holds texts, which can be any JSON value."""
    return data_type.root in _TEXTS


def typed_column(
    data_type: DataType, *, keeps_texts_raw: bool = False, refuses_unknown: bool = False
) -> TypedColumn:
    """Return how the values of a type are decoded.

    Args:
        data_type: The type.
        keeps_texts_raw: Whether texts are decoded to their JSON text.
        refuses_unknown: Whether an object with a field that its ROW does not have is refused.

    Raises:
        ValueError: The name of a ROW's field is one that msgspec cannot have.
    """
    options = {"keeps_texts_raw": keeps_texts_raw, "refuses_unknown": refuses_unknown}
    wanted = to_arrow_type(data_type)
    if _holds_map(data_type):
        return _raw(lambda values: _read_exactly(values, data_type))
    if data_type.root is TypeRoot.VARIANT:
        return variant_column()
    if data_type.root is TypeRoot.DECIMAL:
        return _raw(lambda values: _decimals(values, data_type))
    if data_type.root in _TEXTS and keeps_texts_raw:
        return _raw(lambda values: _texts(values, data_type))
    if data_type.root is TypeRoot.ARRAY:
        return _array(data_type, wanted, **options)
    if data_type.root is TypeRoot.ROW:
        return _row(data_type, wanted, **options)
    if data_type.root in DATE_AND_TIME_TYPES:
        return TypedColumn(str | None, None, lambda values: _times(values, data_type))
    return TypedColumn(_kind(data_type) | None, None, lambda values: (pa.array(values, wanted), ()))


def _holds_map(data_type: DataType) -> bool:
    parts = (data_type.element, *(field.type for field in data_type.fields))
    return data_type.root is TypeRoot.MAP or any(
        part is not None and _holds_map(part) for part in parts
    )


def _raw(build: Callable[[Sequence[Any]], Built]) -> TypedColumn:
    return TypedColumn(msgspec.Raw, NULL, build, is_raw=True)


def _kind(data_type: DataType) -> Any:
    """Return the type for msgspec of a value that is not null."""
    root, bound_of_length = data_type.root, length_bound(data_type)
    if root is TypeRoot.BOOLEAN:
        return bool
    if root in INTEGER_BOUND:
        bound = INTEGER_BOUND[root]
        return Annotated[int, msgspec.Meta(ge=-bound, le=bound - 1)]
    if root is TypeRoot.FLOAT:
        return Annotated[float, msgspec.Meta(ge=-FLOAT_MAX, le=FLOAT_MAX)]
    if root is TypeRoot.DOUBLE:
        return float
    assert root in _TEXTS or root in _BINARIES, f"{root} has a case of its own"
    plain: Any = str if root in _TEXTS else bytes
    if bound_of_length is None:
        return plain
    return Annotated[plain, msgspec.Meta(max_length=bound_of_length)]


def _array(data_type: DataType, wanted: pa.DataType, **options: bool) -> TypedColumn:
    assert data_type.element is not None, "an ARRAY has an element type"
    element = data_type.element
    item = typed_column(element, **options)
    kind = item.kind if item.is_raw or element.nullable else _without_null(item.kind)

    def build(values: Sequence[Any]) -> Built:
        lengths = np.fromiter((0 if v is None else len(v) for v in values), np.int64, len(values))
        ends = np.cumsum(lengths)
        flat = list(chain.from_iterable(value for value in values if value is not None))
        items, undecided = _checked(item.build(flat), element)
        offsets = pa.array(np.concatenate(([0], ends)), pa.int32())
        mask = pa.array([value is None for value in values], pa.bool_())
        array = pa.ListArray.from_arrays(offsets, items, type=wanted, mask=mask)
        # An item belongs to the first list that ends after it.
        rows = np.unique(np.searchsorted(ends, undecided, side="right")).tolist()
        return array, rows

    return TypedColumn(GenericAlias(list, (kind,)) | None, None, build)


def _row(data_type: DataType, wanted: pa.DataType, **options: bool) -> TypedColumn:
    fields: list[Any] = []
    names, defaults, parts = {}, {}, []
    for index, field in enumerate(data_type.fields):
        attribute, part = f"f{index}", typed_column(field.type, **options)
        names[attribute], defaults[attribute] = field.name, part.default
        if field.type.nullable:
            fields.append((attribute, part.kind, part.default))
        else:
            fields.append((attribute, part.kind if part.is_raw else _without_null(part.kind)))
        parts.append((attrgetter(attribute), part, field.type))
    struct: Any = msgspec.defstruct(
        "Row",
        fields,
        rename=names,
        kw_only=True,
        gc=False,
        forbid_unknown_fields=options["refuses_unknown"],
    )
    nothing = struct(**defaults)

    def build(values: Sequence[Any]) -> Built:
        is_null = np.fromiter((value is None for value in values), bool, len(values))
        objects = [nothing if value is None else value for value in values]
        arrays, undecided = [], set[int]()
        for take, part, part_type in parts:
            array, rows = _checked(part.build(list(map(take, objects))), part_type, is_null)
            arrays.append(array)
            undecided.update(rows)
        array = pa.StructArray.from_arrays(arrays, fields=list(wanted), mask=pa.array(is_null))
        return array, sorted(undecided)

    return TypedColumn(struct | None, None, build)


def _without_null(kind: Any) -> Any:
    """Return a type of msgspec without null."""
    (plain,) = (part for part in kind.__args__ if part is not type(None))
    return plain


def _checked(
    built: Built, data_type: DataType, is_missing: npt.NDArray[np.bool_] | None = None
) -> Built:
    """Return an array of parts, where null is decided by the exact reader if the type is NOT NULL.

    Args:
        built: The array.
        data_type: The type of the parts.
        is_missing: Where the whole is null; there the parts are null, too.
    """
    array, undecided = built
    if data_type.nullable or not array.null_count:
        return built
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    if is_missing is not None:
        is_null = is_null & ~is_missing
    return array, sorted({*undecided, *np.flatnonzero(is_null).tolist()})


def _times(values: Sequence[Any], data_type: DataType) -> Built:
    texts = pa.array(values, pa.string())
    found = time_array(texts, data_type)
    return found, rows_where(pc.and_(found.is_null(), texts.is_valid()))


def _decimals(values: Sequence[Any], data_type: DataType) -> Built:
    """Return DECIMALs; undecided are those that are not written plainly within the bounds."""
    written = pa.array(map(bytes, values), pa.binary()).cast(pa.string())
    found = plain_values(pc.utf8_trim(written, '"'), data_type)
    return found, rows_where(pc.and_(found.is_null(), pc.not_equal(written, "null")))


def scalar_text_column() -> TypedColumn:
    """Return how the values of a column of texts without a bound are decoded that are usually numbers."""
    return _raw(_scalars)


def json_text_column() -> TypedColumn:
    """Return how the values of a column of bytes are decoded that keeps their JSON texts; null is null."""
    return _raw(_json_texts)


def variant_column(*, holds_json: bool = False) -> TypedColumn:
    """Return how the values of a VARIANT column are decoded.

    Args:
        holds_json: As `MappedColumn.holds_json`.
    """
    build = partial(_variants, holds_json=holds_json)
    return TypedColumn(msgspec.Raw, NULL if holds_json else _MISSING, build, is_raw=True)


def _variants(values: Sequence[Any], *, holds_json: bool) -> Built:
    """Return VARIANT values; undecided are those that are none."""
    found: list[dict[str, bytes] | None] = []
    undecided = []
    for row, raw in enumerate(values):
        written = bytes(raw)
        value = None
        if written and not (holds_json and written == b"null"):
            try:
                text = (
                    _DECODE_TEXT(written)
                    if holds_json and written[:1] == b'"'
                    else written.decode()
                )
                parts = variant_of_json(text)
            except ValueError:
                undecided.append(row)
            else:
                value = {"value": parts[0], "metadata": parts[1]}
        found.append(value)
    return pa.array(found, VARIANT_TYPE), undecided


def _json_texts(values: Sequence[Any]) -> Built:
    written = pa.array(map(bytes, values), pa.binary())
    is_null = pc.equal(written, pa.scalar(b"null", pa.binary()))
    return pc.if_else(is_null, pa.scalar(None, pa.binary()), written), ()


def _scalars(values: Sequence[Any]) -> Built:
    """Return texts as `_texts` does, numbers and plain texts vectorised."""
    written = pa.array(map(bytes, values), pa.binary()).cast(pa.string())
    is_number = pc.match_substring_regex(written, _USUAL_NUMBER)
    is_text = pc.match_substring_regex(written, _PLAIN_TEXT)
    nothing = pa.scalar(None, pa.string())
    array = pc.if_else(is_number, written, nothing)
    if pc.any(is_text).as_py():
        array = pc.if_else(is_text, pc.utf8_slice_codeunits(written, 1, -1), array)
    rows = rows_where(pc.and_(array.is_null(), pc.not_equal(written, "null")))
    if not rows:
        return array, rows
    others, undecided = _texts([values[row] for row in rows], _STRING)
    return replace_rows(array, rows, others.to_pylist()), [rows[place] for place in undecided]


def _texts(values: Sequence[Any], data_type: DataType) -> Built:
    """Return texts; undecided are arrays, objects, and what is too long or has no form in UTF-8."""
    found: list[str | None] = []
    undecided = []
    for row, raw in enumerate(values):
        written = bytes(raw)
        text = None
        if written[:1] == b'"':
            try:
                text = _DECODE_TEXT(written)
            except ValueError:  # half of a surrogate pair
                undecided.append(row)
        elif written[:1] in b"[{" or written == b"-0" or len(written) > NUMBER_CHARACTERS_MAX:
            undecided.append(row)
        elif written != b"null":
            text = written.decode()
        found.append(text)
    array = pa.array(found, pa.string())
    bound = length_bound(data_type)
    if bound is not None:
        undecided += rows_where(pc.greater(pc.utf8_length(array), bound).fill_null(False))
    return array, undecided


def _read_exactly(values: Sequence[Any], data_type: DataType) -> Built:
    """Return values read exactly; undecided are those with a fault, which has to name the message's field."""
    found, undecided = [], []
    for row, raw in enumerate(values):
        try:
            found.append(exact_value(read_message(bytes(raw)), data_type))
        except (ValueFault, ValueError, RecursionError):
            found.append(None)
            undecided.append(row)
    return pa.array(found, to_arrow_type(data_type)), undecided
