"""JSON to VARIANT values, byte for byte as Paimon's `GenericVariant.fromJson` writes them.

| JSON | value |
|---|---|
| whole number of at most 64 bits | integer of the fewest bytes; `-0` is 0 |
| number without an exponent, at most 38 digits and 38 after the point | decimal of the fewest bytes, zeros at its end kept |
| other number | double, which may be infinite |
| text | short or long text; half of a surrogate pair becomes `?` |
| object | fields sorted by name, in the order of UTF-16; a name that occurs twice is refused |

Whatever follows the JSON value is refused; Paimon ignores it.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from json import JSONDecoder
from typing import Any, Final

from braid.lake.format.variant import layout

_DECIMAL: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
_DIGITS_MAX: Final = 38
_INT8: Final = struct.Struct("<Bb").pack
_INT16: Final = struct.Struct("<Bh").pack
_INT32: Final = struct.Struct("<Bi").pack
_INT64: Final = struct.Struct("<Bq").pack
_DOUBLE: Final = struct.Struct("<Bd").pack
_TEXT: Final = struct.Struct("<BI").pack
_NULL: Final = bytes((layout.NULL << 2,))
_BOOLEANS: Final = (bytes((layout.FALSE << 2,)), bytes((layout.TRUE << 2,)))
_SMALL: Final = [_INT8(layout.INT8 << 2, number - 128) for number in range(256)]
_SHORT: Final = [
    bytes((length << 2 | layout.SHORT_TEXT,)) for length in range(layout.SHORT_TEXT_MAX + 1)
]
_U8_MAX: Final = 0xFF
_KEPT: Final = 1_024
_NAMES_KEPT_MAX: Final = 64
_CHARACTERS_KEPT_MAX: Final = 1_024
"""Bounds of the names that are remembered: nothing is kept of more or longer ones."""


class NotVariant(ValueError):
    """A text that is no JSON, or JSON of which no VARIANT value can be made; the message has the reason."""


def variant_of_json(text: str) -> tuple[bytes, bytes]:
    """Return the value of a JSON text, as `value` and `metadata`.

    Raises:
        NotVariant: It is not JSON, a name occurs twice in an object, it is nested too deeply, or the
            result has more than 128 MiB.
    """
    names: dict[str, int] = {}
    try:
        value = _encoded(_tree(text), names, layout.DEPTH_MAX)
    except RecursionError:
        raise _too_deep() from None
    # Values of a column have few dictionaries.
    known = tuple(names)
    metadata = (_kept_metadata if _is_small(known) else _metadata)(known)
    if max(len(value), len(metadata)) > layout.SIZE_MAX:
        message = f"a value of more than {layout.SIZE_MAX >> 20} MiB"
        raise NotVariant(message)
    return value, metadata


def _tree(text: str) -> Any:
    try:
        return _DECODE(text)
    except ValueError:
        pass  # not JSON, or JSON with an integer that is too long for Python
    try:
        return _DECODE_LONG(text)
    except ValueError as error:
        message = f"not JSON: {error}"
        raise NotVariant(message) from None


class _Number(bytes):
    """A number that is encoded already."""


def _whole(text: str) -> int | _Number:
    return int(text) if len(text) <= _DIGITS_MAX else _number(text)


def _number(text: str) -> _Number:
    decimal = _DECIMAL.fullmatch(text)
    if decimal is not None:
        sign, whole, fraction = decimal.group(1, 2, 3)
        digits = (whole + (fraction or "")).lstrip("0") or "0"
        scale = len(fraction or "")
        if scale <= _DIGITS_MAX and len(digits) <= _DIGITS_MAX:
            return _Number(_decimal(int(sign + digits), scale, len(digits)))
    return _Number(_DOUBLE(layout.DOUBLE << 2, float(text)))


def _decimal(unscaled: int, scale: int, precision: int) -> bytes:
    if scale <= 9 and precision <= 9:
        kind, width = layout.DECIMAL4, 4
    elif scale <= 18 and precision <= 18:
        kind, width = layout.DECIMAL8, 8
    else:
        kind, width = layout.DECIMAL16, 16
    return bytes((kind << 2, scale)) + unscaled.to_bytes(width, "little", signed=True)


def _refuse_name(name: str) -> None:
    message = f"{name} is no number of JSON"
    raise ValueError(message)


# Objects are tuples of pairs, which are told from arrays and keep names that occur twice.
_HOOKS: Final[Mapping[str, Any]] = {
    "object_pairs_hook": tuple,
    "parse_float": _number,
    "parse_constant": _refuse_name,
}
_DECODE: Final[Callable[[str], Any]] = JSONDecoder(**_HOOKS).decode
_DECODE_LONG: Final[Callable[[str], Any]] = JSONDecoder(**_HOOKS, parse_int=_whole).decode


def _encoded(tree: Any, names: dict[str, int], depth: int) -> bytes:
    """Return the value of a part of a JSON text; its names are added to `names`."""
    kind = type(tree)
    if kind is str:
        text = _utf8(tree)
        if len(text) <= layout.SHORT_TEXT_MAX:
            return _SHORT[len(text)] + text
        if len(text) > layout.SIZE_MAX:
            message = f"a text of more than {layout.SIZE_MAX >> 20} MiB"
            raise NotVariant(message)
        return _TEXT(layout.TEXT << 2, len(text)) + text
    if kind is int:
        return _integer(tree)
    if kind is _Number:
        return bytes(tree)
    if tree is None:
        return _NULL
    if kind is bool:
        return _BOOLEANS[tree]
    if not depth:
        raise _too_deep()
    # No comprehension: it would be a second level of calls for each level of the value.
    parts: list[bytes] = []
    if kind is list:
        for part in tree:
            parts.append(_encoded(part, names, depth - 1))  # noqa: PERF401
        return _container(layout.ARRAY, 0, b"", len(parts), parts, ())
    ids: list[int] = []
    for name, part in tree:
        ids.append(names.setdefault(name, len(names)))
        parts.append(_encoded(part, names, depth - 1))
    return _object(tree, ids, parts)


def _object(pairs: tuple[tuple[str, Any], ...], ids: list[int], parts: list[bytes]) -> bytes:
    """Return an object whose values are in the order of the text, and its names sorted."""
    if not ids:
        return _container(layout.OBJECT, 1, b"", 0, parts, ())
    if len(set(ids)) < len(ids):
        twice = next(name for place, (name, _) in enumerate(pairs) if ids[place] in ids[:place])
        message = f"the name {twice!r} occurs twice in an object"
        raise NotVariant(message)
    texts = tuple([name for name, _ in pairs])
    order = (_kept_order if _is_small(texts) else _order)(texts)
    width = _width(max(ids))
    sorted_ids = [ids[place] for place in order]
    written = (
        bytes(sorted_ids)
        if width == 1
        else b"".join([number.to_bytes(width, "little") for number in sorted_ids])
    )
    return _container(layout.OBJECT, width, written, len(ids), parts, order)


def _is_small(names: tuple[str, ...]) -> bool:
    return len(names) <= _NAMES_KEPT_MAX and sum(map(len, names)) <= _CHARACTERS_KEPT_MAX


def _order(names: tuple[str, ...]) -> list[int]:
    """Return the places of names in the order of UTF-16, in which characters beyond 16 bits come before U+E000."""
    keys: Sequence[Any] = names
    if not "".join(names).isascii():
        keys = [name.encode("utf-16-be", "surrogatepass") for name in names]
    return sorted(range(len(names)), key=keys.__getitem__)


_kept_order: Final = lru_cache(_KEPT)(_order)


def _container(
    kind: int,
    id_width: int,
    ids: bytes,
    count: int,
    parts: Sequence[bytes],
    order: Sequence[int],
) -> bytes:
    """Return an object or an array.

    Args:
        kind: OBJECT or ARRAY.
        id_width: Bytes of a name's number; 0 for arrays.
        ids: The numbers of the names, sorted by name.
        count: The number of parts.
        parts: The values, in the order in which they are written.
        order: For OBJECT the place in `parts` of each field, sorted by name.
    """
    starts = [0]
    end = 0
    for part in parts:
        end += len(part)
        starts.append(end)
    if end > layout.SIZE_MAX:
        message = f"a value of more than {layout.SIZE_MAX >> 20} MiB"
        raise NotVariant(message)
    width = _width(end)
    if kind == layout.OBJECT:
        starts = [*(starts[place] for place in order), end]
    is_large = count > _U8_MAX
    flags = (is_large << 4 | id_width - 1 << 2) if kind == layout.OBJECT else is_large << 2
    head = bytes(((flags | width - 1) << 2 | kind,)) + count.to_bytes(
        4 if is_large else 1, "little"
    )
    offsets = (
        bytes(starts)
        if width == 1
        else b"".join([start.to_bytes(width, "little") for start in starts])
    )
    return b"".join([head, ids, offsets, *parts])


def _integer(number: int) -> bytes:
    if -0x80 <= number < 0x80:
        return _SMALL[number + 0x80]
    if -0x8000 <= number < 0x8000:
        return _INT16(layout.INT16 << 2, number)
    if -0x80000000 <= number < 0x80000000:
        return _INT32(layout.INT32 << 2, number)
    if -0x8000000000000000 <= number < 0x8000000000000000:
        return _INT64(layout.INT64 << 2, number)
    return _number(str(number))


def _metadata(names: tuple[str, ...]) -> bytes:
    if not names:
        return layout.EMPTY_METADATA
    texts = [_utf8(name) for name in names]
    starts = [0]
    end = 0
    for text in texts:
        end += len(text)
        starts.append(end)
    if max(end, len(texts)) > layout.SIZE_MAX:
        message = f"names of more than {layout.SIZE_MAX >> 20} MiB"
        raise NotVariant(message)
    width = _width(max(end, len(texts)))
    numbers = [len(texts), *starts]
    written = (
        bytes(numbers)
        if width == 1
        else b"".join([number.to_bytes(width, "little") for number in numbers])
    )
    return b"".join([bytes((layout.VERSION | width - 1 << 6,)), written, *texts])


_kept_metadata: Final = lru_cache(_KEPT)(_metadata)


def _width(number: int) -> int:
    """Return the bytes, 1 to 4, of a number that is not negative."""
    return (number.bit_length() + 7) // 8 or 1


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which Java replaces too
        return text.encode(errors="replace")


def _too_deep() -> NotVariant:
    return NotVariant(f"JSON that is nested more than {layout.DEPTH_MAX} levels deep")
