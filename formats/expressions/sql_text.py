"""SQL text of the smallest parts of an expression: literals, types and names, checked as they are written."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from braid.formats.expressions.errors import DEPTH_MAX, SHOWN_MAX, refused, too_deep

_Node: TypeAlias = Mapping[str, Any]

_NUMBER: Final = re.compile(r"-?[0-9.]+([eE][+-]?[0-9]+)?")
_TYPES: Final = frozenset(
    [
        *("BOOLEAN", "BOOL", "FLOAT", "REAL", "DOUBLE", "DECIMAL", "NUMERIC", "INTERVAL"),
        *("TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        *("VARCHAR", "TEXT", "STRING", "CHAR", "BLOB", "BYTEA"),
        *("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
        *("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITHOUT TIME ZONE"),
    ]
)
_TEXTS: Final = frozenset({"VARCHAR", "TEXT", "STRING", "CHAR", "BLOB", "BYTEA"})
_NESTED_TYPES: Final = {"LIST": "LIST", "STRUCT": "STRUCT", "ROW": "STRUCT", "MAP": "MAP"}


def literal_sql(node: _Node) -> str:
    """Return a literal; raise `ExpressionError` for one that expressions do not have."""
    kind, text = node["literal"]["kind"], node["literal"].get("text") or ""
    match kind:
        case "NULL_LITERAL":
            return "NULL"
        case "BOOLEAN" if text in ("true", "false"):
            return str(text)
        case "STRING" if "\0" not in text:
            return quoted(text)
        case "INTEGER" | "NUMERIC" if _NUMBER.fullmatch(text):
            return f"({text})" if text.startswith("-") else str(text)
    message = f"expressions cannot contain the literal `{text[:SHOWN_MAX]}`"
    raise refused(message, "use numbers, texts, TRUE, FALSE and NULL; write bytes with `unhex`")


def type_sql(node: _Node, depth: int) -> str:
    """Return the type of a cast; raise `ExpressionError` for one that expressions do not have."""
    name, children = str(node.get("type_name", "")), node.get("children", ())
    upper = name.upper()
    if depth > DEPTH_MAX:
        raise too_deep()
    if upper in _NESTED_TYPES and children:
        inner = [
            f"{identifier(child['alias'])} {type_sql(child, depth + 1)}"
            if child.get("alias")
            else type_sql(child, depth + 1)
            for child in children
        ]
        if upper == "LIST" and len(inner) == 1:
            return f"{inner[0]}[]"
        if upper != "LIST":
            return f"{_NESTED_TYPES[upper]}({', '.join(inner)})"
    is_decimal = upper in ("DECIMAL", "NUMERIC")
    if upper in _TYPES and (is_decimal or not children):
        numbers = [literal_sql(child) for child in children]
        return f"{upper}({', '.join(numbers)})" if numbers else upper
    shown = f"{name}(...)" if children else name
    message = f"expressions cannot cast to `{shown[:SHOWN_MAX]}`"
    raise refused(message, "use a type such as BIGINT, DECIMAL(9, 2), VARCHAR or TIMESTAMP")


def is_small_type(sql: str) -> bool:
    """Return whether values of a type are small whatever they were made from: numbers and times."""
    return sql in _TYPES - _TEXTS or sql.startswith("DECIMAL(")


def quoted(text: str) -> str:
    """Return the literal of a text."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as SQL, whatever its characters are."""
    return '"' + name.replace('"', '""') + '"'
