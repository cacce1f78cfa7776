"""Texts of column values, as the documentation shows them."""

import json

import pyarrow as pa


def value_text(value: object, kind: pa.DataType) -> str:
    """Return the text of a value.

    Args:
        value: As `to_pylist` returns it; None is `null`. Requires: no bytes, whose text depends on
            their content.
        kind: The type of its column.
    """
    if value is None:
        return "null"
    if pa.types.is_map(kind):
        assert isinstance(value, list)
        pairs = (
            f"{value_text(key, kind.key_type)}: {value_text(item, kind.item_type)}"
            for key, item in value
        )
        return "{" + ", ".join(pairs) + "}"
    if pa.types.is_list(kind):
        assert isinstance(value, list)
        return "[" + ", ".join(value_text(item, kind.value_type) for item in value) + "]"
    if pa.types.is_struct(kind):
        assert isinstance(value, dict)
        fields = (value_text(value[field.name], field.type) for field in kind)
        return "(" + ", ".join(fields) + ")"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def json_text(value: object) -> str:
    """Return a JSON value in one line; a text without quotes where nothing else has the same form."""
    if isinstance(value, str) and value and value not in ("null", "true", "false"):
        return value
    return json.dumps(value, ensure_ascii=False)
