"""Mapping of Arrow types to kinds of native values, and of Arrow values to native values, from which columns are then read."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from braid.formats.json.message import JsonObject, json_object
from braid.formats.native.kinds import NativeKind, can_fill
from braid.formats.native.leaf_arrays import Leaf
from braid.formats.native.values import Unreadable, key_text
from braid.lake import DataType

_UNIT_NS: Final[Mapping[str, int]] = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DECIMAL_DIGITS: Final = 38


def leaf_of(data_type: pa.DataType) -> Leaf | None:
    """Return the kind of a type's values; None for lists, maps and structs."""
    kinds = pa.types
    if kinds.is_dictionary(data_type):
        return leaf_of(data_type.value_type)
    if kinds.is_boolean(data_type) or kinds.is_null(data_type):
        return Leaf(NativeKind.BOOLEAN)
    if kinds.is_integer(data_type):
        return Leaf(NativeKind.WHOLE)
    if kinds.is_floating(data_type):
        return Leaf(NativeKind.FLOAT)
    if kinds.is_decimal(data_type):
        is_wide = data_type.precision > _DECIMAL_DIGITS
        return Leaf(NativeKind.UNREADABLE if is_wide else NativeKind.DECIMAL)
    if kinds.is_string(data_type) or kinds.is_large_string(data_type) or _is_view(data_type, True):
        return Leaf(NativeKind.TEXT)
    if kinds.is_binary(data_type) or kinds.is_large_binary(data_type) or _is_view(data_type, False):
        return Leaf(NativeKind.BYTES)
    if kinds.is_fixed_size_binary(data_type):
        return Leaf(NativeKind.BYTES)
    if kinds.is_date(data_type):
        return Leaf(NativeKind.DATE)
    if kinds.is_time(data_type):
        return Leaf(NativeKind.TIME, _UNIT_NS[data_type.unit])
    if kinds.is_timestamp(data_type):
        return Leaf(NativeKind.MOMENT, _UNIT_NS[data_type.unit], data_type.tz is None)
    return None if _nested_kind(data_type) is not None else Leaf(NativeKind.UNREADABLE)


def kind_of(data_type: pa.DataType) -> NativeKind:
    """Return the kind of a type's values."""
    nested = _nested_kind(data_type)
    if nested is not None:
        return nested
    leaf = leaf_of(data_type)
    assert leaf is not None, "what is not nested is a leaf"
    return NativeKind.NULL if pa.types.is_null(data_type) else leaf.kind


def misfit(data_type: pa.DataType, column: DataType) -> str | None:
    """Return why no value of a type can fill a column, such as `a text, not INT`; None if one can."""
    kind = kind_of(data_type)
    if can_fill(kind, column.root):
        return None
    found = _unreadable(data_type).name if kind is NativeKind.UNREADABLE else kind.value
    return f"{found}, not {column.with_nullable(True)}"


def plain_array(values: pa.Array) -> pa.Array:
    """Return values of a leaf as `leaf_arrays` takes them: whole numbers of 64 bits, texts and bytes with offsets of 32."""
    kinds, found = pa.types, values.type
    if kinds.is_dictionary(found):
        return plain_array(values.dictionary_decode())
    if kinds.is_null(found):
        return values.cast(pa.bool_())
    if kinds.is_boolean(found) or kinds.is_string(found) or kinds.is_binary(found):
        return values
    if kinds.is_integer(found):
        return values.cast(pa.uint64() if found == pa.uint64() else pa.int64())
    if kinds.is_float16(found):
        return values.cast(pa.float32())
    if kinds.is_decimal(found) and found.precision <= _DECIMAL_DIGITS:
        return values.cast(pa.decimal128(found.precision, found.scale))
    if kinds.is_large_string(found) or _is_view(found, True):
        return values.cast(pa.string())
    if kinds.is_date(found):
        return values.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    if kinds.is_time32(found):
        return values.cast(pa.int32()).cast(pa.int64())
    if kinds.is_time64(found) or kinds.is_timestamp(found):
        return values.cast(pa.int64())
    if kinds.is_fixed_size_binary(found) or kinds.is_large_binary(found) or _is_view(found, False):
        return values.cast(pa.binary())
    return values


def native_of(item: Any, data_type: pa.DataType) -> Any:
    """Return the native value of a Python value of a type (`formats.native.values`); None is None."""
    if item is None:
        return None
    match kind_of(data_type):
        case NativeKind.LIST:
            return [native_of(one, data_type.value_type) for one in item]
        case NativeKind.RECORD:
            return {field.name: native_of(item[field.name], field.type) for field in data_type}
        case NativeKind.MAP:
            return _map(item, data_type)
        case NativeKind.DATE | NativeKind.TIME | NativeKind.MOMENT:
            leaf = leaf_of(data_type)
            assert leaf is not None, "dates and times are leaves"
            return leaf.native(plain_array(pa.array([item], data_type))[0].as_py())
        case NativeKind.UNREADABLE:
            return _unreadable(data_type)
        case _:
            assert isinstance(item, bool | int | float | Decimal | str | bytes), "a plain value"
            return item


def native_at(values: pa.Array, row: int) -> Any:
    """Return the native value of a row of an array of leaves."""
    leaf = leaf_of(values.type)
    assert leaf is not None, "the values have no parts"
    if leaf.kind is NativeKind.UNREADABLE:
        return _unreadable(values.type)
    return leaf.native(plain_array(values.slice(row, 1))[0].as_py())


def _unreadable(data_type: pa.DataType) -> Unreadable:
    return Unreadable(f"a value of type {data_type}")


def _nested_kind(data_type: pa.DataType) -> NativeKind | None:
    kinds = pa.types
    if kinds.is_struct(data_type):
        return NativeKind.RECORD
    if kinds.is_map(data_type):
        return NativeKind.MAP
    is_list = (
        kinds.is_list(data_type)
        or kinds.is_large_list(data_type)
        or kinds.is_fixed_size_list(data_type)
    )
    return NativeKind.LIST if is_list else None


def _map(entries: list[tuple[Any, Any]], data_type: pa.MapType) -> JsonObject:
    keys = [native_of(name, data_type.key_type) for name, _ in entries]
    if _nested_kind(data_type.key_type) is not None:
        keys = list(map(key_text, keys))
    items = [native_of(item, data_type.item_type) for _, item in entries]
    return json_object(list(zip(keys, items, strict=True)))


def _is_view(data_type: pa.DataType, is_text: bool) -> bool:
    return bool(data_type == (pa.string_view() if is_text else pa.binary_view()))
