"""Options of a table that declare sequence groups and the aggregate functions of columns; parsed without validation.

| option | meaning |
|---|---|
| `fields.<o1>[,<o2>...].sequence-group = <p1>[,<p2>...]` | the ordering columns o1, o2 … decide which record gives the protected columns p1, p2 … |
| `fields.<column>.aggregate-function` | how values of the column combine |
| `fields.<column>.ignore-retract` | retracts have no effect on the column |
| `fields.default-aggregate-function` | the function of columns that name none |
| `fields.<column>.<any other key>` | an option that the column's function reads |
| `partial-update.remove-record-on-sequence-group = <o1>[,<o2>...]` | a -D in the groups of these ordering columns removes the row |

Names of columns in these options are not trimmed: a blank is part of a name. Source: merge-semantics 3.2, 5, 9.
"""

from collections.abc import Mapping
from dataclasses import dataclass

FIELDS = "fields"
SEQUENCE_GROUP = "sequence-group"
DEFAULT_FUNCTION = "fields.default-aggregate-function"
REMOVE_ON_GROUP = "partial-update.remove-record-on-sequence-group"
LAST_NON_NULL_VALUE = "last_non_null_value"
LAST_VALUE = "last_value"

_GROUP_PREFIX = "fields."
_OF_EVERY_FUNCTION = ("aggregate-function", "ignore-retract", "sequence-group")
_GROUP_SUFFIX = ".sequence-group"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceGroup:
    """Columns that change together, and the columns that order their changes.

    Attributes:
        ordering: The ordering columns, at least one; compared in this order, ascending, null
            smallest.
        protected: The protected columns, in declared order; the values of those without an aggregate
            function come from the newest record of the group.
    """

    ordering: tuple[str, ...]
    protected: tuple[str, ...]


def split_names(text: str) -> tuple[str, ...]:
    """Return the names between commas, empty ones at the end dropped as in Java; at least one name."""
    names = text.split(",")
    while len(names) > 1 and not names[-1]:
        names.pop()
    return tuple(names)


def is_group_key(key: str) -> bool:
    """Return whether the option is meant as the declaration of a sequence group, well formed or not."""
    return key.startswith(FIELDS) and key.endswith(SEQUENCE_GROUP)


def is_well_formed_group_key(key: str) -> bool:
    """Return whether the option has a sequence group's exact prefix and suffix."""
    return (
        key.startswith(_GROUP_PREFIX)
        and key.endswith(_GROUP_SUFFIX)
        and len(key) > len(_GROUP_PREFIX) + len(_GROUP_SUFFIX)
    )


def declared_groups(options: Mapping[str, str]) -> dict[str, SequenceGroup]:
    """Return the well-formed sequence groups by option key, in the order of the keys."""
    return {
        key: SequenceGroup(
            ordering=split_names(key[len(_GROUP_PREFIX) : -len(_GROUP_SUFFIX)]),
            protected=split_names(options[key]),
        )
        for key in sorted(options)
        if is_well_formed_group_key(key)
    }


def function_key(options: Mapping[str, str], column: str) -> str | None:
    """Return the option key of the column's function: its own, else the default's, else None."""
    keys = (f"fields.{column}.aggregate-function", DEFAULT_FUNCTION)
    return next((key for key in keys if key in options), None)


def declared_functions(options: Mapping[str, str]) -> dict[str, str]:
    """Return every aggregate function by the option key that names it, in the order of the keys."""
    return {
        key: options[key]
        for key in sorted(options)
        if key == DEFAULT_FUNCTION
        or (key.startswith(_GROUP_PREFIX) and key.endswith(".aggregate-function"))
    }


def ignores_retract(options: Mapping[str, str], column: str) -> bool:
    """Return whether the column declares that retracts have no effect on it."""
    return options.get(f"fields.{column}.ignore-retract", "false").lower() == "true"


def options_by_column(options: Mapping[str, str]) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the options `fields.<column>.<key>` as (key, value) by column, in the order of the keys.

    Left out are sequence groups and the options that every function has: its name and `ignore-retract`.
    Names of columns may have dots: an option is listed under every column that its key can mean, existing or not.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(options):
        _, *parts = name.split(".")
        if not name.startswith(_GROUP_PREFIX):
            continue
        for end in range(1, len(parts)):
            key = ".".join(parts[end:])
            if key not in _OF_EVERY_FUNCTION:
                found.setdefault(".".join(parts[:end]), []).append((key, options[name]))
    return {column: tuple(sorted(pairs)) for column, pairs in found.items()}


def removing_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ordering columns of groups whose -D removes the row, as the option lists them."""
    text = options.get(REMOVE_ON_GROUP)
    return () if text is None else split_names(text)
