"""Differences of two declarations, field by field. Pure.

Entries of lists that have a name are compared by it, so that an added column is one difference, whatever its place is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_NAMES: Final = ("name", "column")
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field that two declarations have with different values.

    Attributes:
        field: The field for people, such as `columns[total].type`.
        before: The JSON value that is registered; None: null, or there is none.
        after: The declared value, likewise.
    """

    field: str
    before: Any
    after: Any


def differences(before: Any, after: Any) -> list[Difference]:
    """Return the differences of two JSON values, in the order of the fields.

    >>> old = {"columns": [{"name": "a", "type": "INT"}]}
    >>> new = {"columns": [{"name": "b", "type": "INT"}, {"name": "a", "type": "BIGINT"}]}
    >>> [(one.field, one.before, one.after) for one in differences(old, new)]
    [('columns[b]', None, {'name': 'b', 'type': 'INT'}), ('columns[a].type', 'INT', 'BIGINT')]
    """
    return list(_differences("", before, after))


def _differences(field: str, before: Any, after: Any) -> Iterator[Difference]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*after, *before]):
            place = f"{field}.{name}" if field else str(name)
            yield from _entry(place, before.get(name, _ABSENT), after.get(name, _ABSENT))
        return
    old, new = _by_name(before), _by_name(after)
    if old is None or new is None:
        yield Difference(field=field, before=before, after=after)
        return
    found = False
    for name in dict.fromkeys([*new, *old]):
        for one in _entry(f"{field}[{name}]", old.get(name, _ABSENT), new.get(name, _ABSENT)):
            found = True
            yield one
    if not found:  # the same entries in another order
        yield Difference(field=field, before=list(old), after=list(new))


def _entry(field: str, before: Any, after: Any) -> Iterator[Difference]:
    if before is _ABSENT or after is _ABSENT:
        old, new = (None if one is _ABSENT else one for one in (before, after))
        if old != new:  # null, and a field that is not there, are the same
            yield Difference(field=field, before=old, after=new)
        return
    yield from _differences(field, before, after)


def _by_name(value: Any) -> dict[str, Any] | None:
    """Return the entries of a list by their names; None: it has none, or they are not unique."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    if not all(isinstance(entry, Mapping) for entry in value):
        return None
    for key in _NAMES:
        names = [entry.get(key) for entry in value]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
    return None
