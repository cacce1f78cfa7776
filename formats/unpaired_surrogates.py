r"""Unpaired surrogates in JSON: half of a UTF-16 surrogate pair, such as `"\ud800"`, names no character.

JSON can contain an unpaired surrogate as an escape, but no UTF-8 text can hold one. A parser that replaces
it by `?` could make two keys equal, so a message with an unpaired surrogate in a declared value is refused.
"""

from typing import Any

from braid.formats.json_message import items_of
from braid.lake import DataType, TypeRoot


def may_hold_surrogate(data_type: DataType) -> bool:
    """Return whether values of a type can contain texts, keys of a MAP included."""
    inner = (data_type.element, data_type.value, *(field.type for field in data_type.fields))
    return data_type.root in (TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.MAP) or any(
        part is not None and may_hold_surrogate(part) for part in inner
    )


def is_unpaired_surrogate(value: Any, data_type: DataType) -> bool:
    """Return whether a JSON value itself has an unpaired surrogate; its parts do not count.

    Args:
        value: A value, not null, of the JSON type that `data_type` is read from.
        data_type: The type. A text may have an array or object as its value, which is checked as a whole; of a
            MAP the keys are checked.
    """
    match data_type.root:
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return not _is_encodable(value)
        case TypeRoot.MAP:
            return not _is_encodable(list(value))
        case _:
            return False


def holds_unpaired_surrogate(value: Any, data_type: DataType) -> bool:
    """Return whether a JSON value, or a part of it that its type declares, has an unpaired surrogate."""
    if value is None or not may_hold_surrogate(data_type):
        return False
    return is_unpaired_surrogate(value, data_type) or any(
        holds_unpaired_surrogate(item, item_type)
        for _, item, item_type in items_of(value, data_type)
    )


def has_utf8_form(text: str) -> bool:
    """Return whether a text has a UTF-8 form, so whether each of its surrogates belongs to a pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_encodable(value: Any) -> bool:
    """Return whether every text in a JSON value has a UTF-8 form."""
    match value:
        case str():
            return has_utf8_form(value)
        case list():
            return all(map(_is_encodable, value))
        case dict():
            return all(map(_is_encodable, value)) and all(map(_is_encodable, value.values()))
        case _:
            return True
