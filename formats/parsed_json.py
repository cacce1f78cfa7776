"""Conversion of JSON values back to the values of a table's row: the inverse of `json_values`."""

import json
from collections.abc import Mapping
from typing import Any, Final

from braid.formats.key_values import parse_value
from braid.lake import DataField, DataType, TypeRoot, variant_of_json

_NUMBERS: Final = (
    TypeRoot.TINYINT,
    TypeRoot.SMALLINT,
    TypeRoot.INT,
    TypeRoot.BIGINT,
    TypeRoot.FLOAT,
    TypeRoot.DOUBLE,
)


def parsed_json(value: Any, data_type: DataType) -> object:
    """Return the value of a column, in the form that `pa.array` accepts for its type.

    Args:
        value: A value that `json_value` has returned for the type; None stays None.
        data_type: The column's type.

    Raises:
        ValueError: The JSON value is not one of the type; the message has the reason.
    """
    if value is None:
        return None
    match data_type.root:
        case TypeRoot.ARRAY:
            return [parsed_json(item, _part(data_type.element)) for item in _of(list, value)]
        case TypeRoot.MAP | TypeRoot.MULTISET:
            return [_entry(entry, data_type) for entry in _of(list, value)]
        case TypeRoot.ROW:
            fields = _of(Mapping, value)
            return {
                field.name: parsed_json(fields.get(field.name), field.type)
                for field in data_type.fields
            }
        case TypeRoot.VARIANT:
            content, metadata = variant_of_json(json.dumps(value, ensure_ascii=False))
            return {"value": content, "metadata": metadata}
        case TypeRoot.BOOLEAN:
            return _of(bool, value)
        case root if (
            root in _NUMBERS and isinstance(value, int | float) and not isinstance(value, bool)
        ):
            # By its text, so that a number has to fit the type, and no digit is lost.
            return parse_value(repr(value), _field(data_type))
        case _:
            return parse_value(_of(str, value), _field(data_type))


def _entry(entry: Any, data_type: DataType) -> tuple[object, object]:
    found = _of(Mapping, entry)
    key, value = found.get("key"), found.get("value")
    key_type = _part(data_type.key or data_type.element)
    return parsed_json(key, key_type), (
        value if data_type.value is None else parsed_json(value, data_type.value)
    )


def _part(data_type: DataType | None) -> DataType:
    assert data_type is not None, "a nested type has the types of its parts"
    return data_type


def _field(data_type: DataType) -> DataField:
    return DataField(name="", type=data_type)


def _of(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        message = f"expected {kind.__name__}, found {type(value).__name__}"
        raise ValueError(message)  # noqa: TRY004 - one kind of error for values that do not fit
    return value
