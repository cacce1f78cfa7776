r"""Halves of surrogate pairs in JSON: `"\ud800"` names no character, and no UTF-8 text can have it.

Spark's parser puts `?` in its place, so two keys could become one. The JVM tells the few messages that have
one anywhere; in which of the declared values it is, Python tells.
"""

from typing import Any, Final

from pyspark.sql import (
    Column,
    functions as fn,
)

from lake import DataType, TypeRoot
from pipelines.json.json_message import items_of

_BACKSLASH: Final = r"\\\\"
_SURROGATE: Final = r"\\u[dD][89a-fA-F]"
_PAIR: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"


def has_half_pair(text: Column) -> Column:
    """Return whether a JSON text has half of a surrogate pair; null where the text is null."""
    # A blank stays for each, so that what stood on both sides of it does not look like a pair.
    without_backslashes = fn.regexp_replace(text, _BACKSLASH, " ")
    without_pairs = fn.regexp_replace(without_backslashes, _PAIR, " ")
    return fn.rlike(text, fn.lit(_SURROGATE)) & fn.rlike(without_pairs, fn.lit(_SURROGATE))


def may_have_half_pair(data_type: DataType) -> bool:
    """Return whether values of a type have texts, the names in a MAP among them."""
    inner = (data_type.element, data_type.value, *(field.type for field in data_type.fields))
    return data_type.root in (TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.MAP) or any(
        part is not None and may_have_half_pair(part) for part in inner
    )


def is_half_pair(value: Any, data_type: DataType) -> bool:
    """Return whether a JSON value has half of a pair itself; what is inside of it does not count.

    Args:
        value: Not null, as a type's values are in JSON.
        data_type: The type. A text takes arrays and objects whole; of a MAP the names count.
    """
    match data_type.root:
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return not _is_unicode(value)
        case TypeRoot.MAP:
            return not _is_unicode(list(value))
        case _:
            return False


def holds_half_pair(value: Any, data_type: DataType) -> bool:
    """Return whether a JSON value, or one inside of it that its type declares, has half of a pair."""
    if value is None or not may_have_half_pair(data_type):
        return False
    return is_half_pair(value, data_type) or any(
        holds_half_pair(item, item_type) for _, item, item_type in items_of(value, data_type)
    )


def _is_unicode(value: Any) -> bool:
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return False
            return True
        case list():
            return all(map(_is_unicode, value))
        case dict():
            return all(map(_is_unicode, value)) and all(map(_is_unicode, value.values()))
        case _:
            return True
