"""Changed values between two versions of a table's document, as the audit log lists them.

Pure. Only what people declare and request is compared: the declaration of the table, and its streams with their desired
states. A pending schema change counts as made, because the version that proposes it decides it.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from braid.registry.store.stored_documents import entry_name
from braid.schemas import AuditChange, TableDocument
from braid.schemas.field_problems import json_pointer
from braid.schemas.problem import JsonPath

CHANGES_BYTES_MAX: Final = 256 << 10
"""Of the values before and after, together, of one entry: a document holds its newest entry."""

_DERIVED: Final = {"version", "features"}
"""Fields of streams that follow from the others."""


def document_changes(
    before: TableDocument | None, after: TableDocument | None
) -> tuple[AuditChange, ...]:
    """Return the changed values, in the order of pointers.

    Args:
        before: The document before the change; None: the table was not registered.
        after: The document after the change; None: the table is not registered any more.
    """
    return tuple(_changes(_declared(before), _declared(after), ()))


def bounded_changes(changes: Iterable[AuditChange]) -> tuple[tuple[AuditChange, ...], int]:
    """Return the changes that fit into one entry, and the number of those that do not."""
    kept: list[AuditChange] = []
    left_out, left_bytes = 0, CHANGES_BYTES_MAX
    for change in changes:
        size_bytes = len(orjson.dumps(change.model_dump(mode="json")))
        if size_bytes > left_bytes:
            left_out += 1
            continue
        left_bytes -= size_bytes
        kept.append(change)
    return tuple(kept), left_out


def _declared(document: TableDocument | None) -> dict[str, Any] | None:
    if document is None:
        return None
    decided = document if document.pending is None else document.pending
    return {
        "table": decided.table.model_dump(mode="json", exclude_none=True),
        "streams": {
            name: entry.model_dump(mode="json", exclude_none=True, exclude=_DERIVED)
            for name, entry in decided.streams.items()
        },
    }


def _changes(before: Any, after: Any, path: JsonPath) -> Iterator[AuditChange]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _changes(before.get(key), after.get(key), (*path, key))
        return
    if isinstance(before, list) and isinstance(after, list) and _are_named([*before, *after]):
        yield from _entry_changes(before, after, path)
        return
    yield AuditChange(pointer=json_pointer(path), before=before, after=after)


def _entry_changes(before: list[Any], after: list[Any], path: JsonPath) -> Iterator[AuditChange]:
    """Yield the changes of a list whose entries have names: an entry that only moves is not one of them."""
    old = {entry_name(entry): (index, entry) for index, entry in enumerate(before)}
    new = {entry_name(entry): (index, entry) for index, entry in enumerate(after)}
    for name, (index, entry) in old.items():
        if name not in new:
            yield from _changes(entry, None, (*path, index))
    for name, (index, entry) in new.items():
        yield from _changes(old.get(name, (None, None))[1], entry, (*path, index))


def _are_named(entries: list[Any]) -> bool:
    return all(entry_name(entry) is not None for entry in entries)
