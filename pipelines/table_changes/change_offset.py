"""Place in the changes of a table, as Spark's checkpoint stores it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from braid.lake import CorruptData


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ChangeOffset:
    """What is read next.

    Attributes:
        snapshot: Id of a snapshot, which need not exist yet.
        index: Number of the bucket of its rows, or of the file of its changes, from 0.
        is_full: Whether the rows of the snapshot are read, and then the changes after it.
        last_uuid: Unique id of the snapshot before, "" if it was not known: a rollback gives ids of snapshots again.
    """

    snapshot: int
    index: int = 0
    is_full: bool = False
    last_uuid: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the offset as Spark stores it."""
        return {
            "snapshot": self.snapshot,
            "index": self.index,
            "full": self.is_full,
            "last_uuid": self.last_uuid,
        }


def parse_offset(value: Mapping[str, Any]) -> ChangeOffset:
    """Return the offset that `to_json` was called on.

    Raises:
        CorruptData: The checkpoint is not that of a table's changes.
    """
    try:
        return ChangeOffset(
            snapshot=int(value["snapshot"]),
            index=int(value["index"]),
            is_full=bool(value["full"]),
            last_uuid=str(value["last_uuid"]),
        )
    except (LookupError, TypeError, ValueError) as error:
        message = f"no offset of a table's changes: {value}"
        raise CorruptData(message) from error
