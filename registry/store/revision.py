"""Revisions and preconditions, which keep a caller from overwriting a change that it has not read.

The revision of a table changes with what the service shows of the table, and that of a stream with what it shows of the stream:
a change of a stream's state leaves the table's revision as it is.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from braid.registry.errors import PreconditionFailed
from braid.schemas import Contract, StreamEntry, TableDocument

REVISION_LENGTH = 32  # hexadecimal digits: 128 bits
_OF_TABLE: Final = {"database", "name", "table", "created_ms"}
_OF_STREAM: Final = {"spec", "desired_state", "restart_generation", "version"}


def revision_of(*parts: Contract) -> str:
    """Return a digest of the content: the same for equal content, on every machine."""
    return _revision_of_values([part.model_dump(mode="json") for part in parts])


def _revision_of_values(values: Sequence[Any]) -> str:
    data = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).hexdigest()[:REVISION_LENGTH]


def table_revision(document: TableDocument, *, schema_id: int) -> str:
    """Return the revision of a table: of its declaration, its schema and the names of its streams.

    Args:
        document: The table's document.
        schema_id: Id of the table's newest schema, which changes also without the registry.
    """
    return _revision_of_values(
        [document.model_dump(mode="json", include=_OF_TABLE), sorted(document.streams), schema_id]
    )


def stream_revision(entry: StreamEntry) -> str:
    """Return the revision of a stream: of its declaration and its desired state."""
    return _revision_of_values([entry.model_dump(mode="json", include=_OF_STREAM)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """A condition on the current state before a change.

    Attributes:
        revisions: The current revision has to be one of these; None: any.
        exists: Whether the document or stream has to exist (True) or must not (False); None: either.
        other_than: The current revision must not be one of these.
    """

    revisions: frozenset[str] | None = None
    exists: bool | None = None
    other_than: frozenset[str] = frozenset()

    def check(self, current: str | None) -> None:
        """Raise unless the condition holds.

        Args:
            current: The current revision; None when the document or stream does not exist.

        Raises:
            PreconditionFailed: The condition does not hold.
        """
        if self.revisions is not None and current not in self.revisions:
            message = (
                "it has changed since it was read" if current else "it does not exist any more"
            )
            raise PreconditionFailed(message, current=current)
        if self.exists is not None and self.exists is not (current is not None):
            message = "it exists already" if current else "it does not exist"
            raise PreconditionFailed(message, current=current)
        if current in self.other_than:
            message = "it is as the caller has read it"
            raise PreconditionFailed(message, current=current)


NO_PRECONDITION = Precondition()
