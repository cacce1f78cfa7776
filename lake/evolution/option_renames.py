"""Rename of a column in most of the options that can name it.

The reference renames the column in some options only. This engine also renames it in its own
options, and in `changelog-producer.row-deduplicate-ignore-fields`, where the reference leaves the
old name, which then silently matches no column. In all other options, such as `rowkind.field`, both
leave the old name, and their rules for tables refuse the result.

Source: merge-semantics 8.3.
"""

from collections.abc import Callable, Mapping
from typing import Final

from braid.lake.options.table_options import (
    DELETE_TIME_FIELDS,
    NULL_DELETES,
    NULL_DELETES_KEPT,
    NULL_DELETES_MARKS,
)

_OWN_OPTIONS: Final = ("braid.on-overflow", "braid.lg-k", "braid.hll-type")
_COLUMN_OPTIONS: Final = (
    "aggregate-function",
    "ignore-retract",
    "distinct",
    "list-agg-delimiter",
    *_OWN_OPTIONS,
)
"""Suffixes of the options `fields.<column>.…` whose column is renamed."""
_GROUP: Final = "sequence-group"
_NESTED_KEY: Final = "nested-key"
_LISTS: Final = frozenset(
    {
        "bucket-key",
        "sequence.field",
        "changelog-producer.row-deduplicate-ignore-fields",
        DELETE_TIME_FIELDS,
        NULL_DELETES,
        NULL_DELETES_KEPT,
        NULL_DELETES_MARKS,
    }
)
_FIELDS: Final = "fields."


def rename_in_options(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """Return the options with a column renamed.

    Args:
        options: Options of the table.
        old: Old name of a column of the table.
        new: New name of the column.
    """

    def renamed(name: str) -> str:
        return new if name == old else name

    return {_key(key, renamed): _value(key, value, renamed) for key, value in options.items()}


def _key(key: str, renamed: Callable[[str], str]) -> str:
    columns, suffix = _parts(key)
    if suffix in (_GROUP, _NESTED_KEY):
        return f"{_FIELDS}{_list(columns, renamed)}.{suffix}"
    if suffix in _COLUMN_OPTIONS:
        return f"{_FIELDS}{renamed(columns)}.{suffix}"
    return key


def _value(key: str, value: str, renamed: Callable[[str], str]) -> str:
    if key in _LISTS or _parts(key)[1] in (_GROUP, _NESTED_KEY):
        return _list(value, renamed)
    return value


def _parts(key: str) -> tuple[str, str]:
    """Return columns and suffix of `fields.<columns>.<suffix>`; two empty texts for other keys."""
    if not key.startswith(_FIELDS):
        return "", ""
    rest = key.removeprefix(_FIELDS)
    # Suffixes of this engine's options have a dot themselves, so splitting at the last dot would cut them.
    for own in _OWN_OPTIONS:
        if rest.endswith(f".{own}"):
            return rest.removesuffix(f".{own}"), own
    columns, dot, suffix = rest.rpartition(".")
    return (columns, suffix) if dot else ("", "")


def _list(text: str, renamed: Callable[[str], str]) -> str:
    return ",".join(renamed(name) for name in text.split(","))
