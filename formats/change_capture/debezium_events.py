"""Fields of Debezium's events in any message format: which fields are read, and what they mean.

| `op` | event |
|---|---|
| `c`, `u` | a row was inserted or updated |
| `r` | a snapshot has read the row |
| `d` | a row was deleted |
| `t` | all rows of the table were removed; refused |
| another | refused |

Unwrapped events (ExtractNewRecordState) have the fields of the row, and `__op` or `__deleted` beside them. An unwrapped event
that has neither `__op` nor `__deleted` is an upsert.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.change_capture.changes import TRUNCATE, Bools
from braid.formats.change_capture.event_columns import TEXT, are_in, unknown_kind
from braid.formats.change_capture.positions import change_positions, position_fields
from braid.formats.change_capture.unwrapped_rows import PREFIX
from braid.formats.fault import Faults, malformed
from braid.formats.mapped_column import MappedColumn
from braid.schemas import DebeziumFormat, SourceDatabase

BEFORE: Final = "before"
AFTER: Final = "after"

_OP: Final = "op"
_DELETED: Final = "deleted"
_UPSERTS: Final = ("c", "u", "r")
_READ, _DELETE, _TRUNCATE = "r", "d", "t"
_TEXTS: Final = frozenset({"sequence", "file", "commit_lsn", "change_lsn"})
"""Fields of `source` that are texts; the others are numbers, or texts of them."""


class EventFields:
    """The fields of events that say what they are.

    Attributes:
        columns: The fields, as columns to read; each is a text.
    """

    def __init__(self, declared: DebeziumFormat, *, has_position: bool) -> None:
        """Choose the fields.

        Args:
            declared: The format.
            has_position: Whether the positions of the changes are read.
        """
        self._declared = declared
        self._position = position_fields(declared.database) if has_position else ()
        self.columns = tuple(
            MappedColumn(
                name=name,
                path=self._path(name),
                type=TEXT,
                takes_scalars=name not in (*_TEXTS, _OP),
            )
            for name in (*self._kinds, *self._position)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields of an unwrapped event that say what it is."""
        return tuple(column.path[0] for column in self.columns)

    @property
    def _kinds(self) -> tuple[str, ...]:
        return (_OP, _DELETED) if self._declared.unwrapped else (_OP,)

    def _path(self, name: str) -> tuple[str, ...]:
        is_kind = name in self._kinds
        if not self._declared.unwrapped:
            return (name,) if is_kind else ("source", name)
        return (f"{PREFIX}{'' if is_kind else 'source_'}{name}",)

    def kinds(
        self, fields: Mapping[str, pa.Array], is_there: Bools, faults: Faults
    ) -> tuple[Bools, Bools]:
        """Return which events are upserts, and which deletes.

        Args:
            fields: The fields that were read, by name.
            is_there: Whether each event is to be read.
            faults: The faults of events, to which those of the others are added.
        """
        op = fields[_OP]
        is_there = is_there & ~faults.is_faulty
        is_delete = are_in(op, (_DELETE,)) & is_there
        is_upsert = are_in(op, _UPSERTS) & is_there
        is_truncate = are_in(op, (_TRUNCATE,)) & is_there
        if self._declared.unwrapped:
            is_delete |= are_in(fields[_DELETED], ("true",)) & is_there
            is_upsert |= op.is_null().to_numpy(zero_copy_only=False) & is_there
            is_upsert &= ~is_delete
        if is_truncate.any():
            faults.add_all(np.flatnonzero(is_truncate).tolist(), TRUNCATE)
        for row in np.flatnonzero(is_there & ~(is_delete | is_upsert | is_truncate)).tolist():
            expected = (*_UPSERTS, _DELETE)
            faults.add(row, unknown_kind(op[row].as_py(), field=_OP, expected=expected))
        return is_upsert, is_delete

    def positions(self, fields: Mapping[str, pa.Array]) -> pa.BinaryArray | None:
        """Return the positions of the changes; None where they are not read.

        An unwrapped event without `__op` has none: it may be a read of a snapshot.
        """
        if not self._position:
            return None
        op = fields[_OP]
        is_read = pc.equal(op, _READ).fill_null(False)
        found = change_positions(self._declared.database, fields, is_read)
        return pc.if_else(op.is_valid(), found, pa.scalar(None, found.type))

    def refuse_without_row(self, rows: pa.BinaryArray, is_upsert: Bools, faults: Faults) -> None:
        """Add the faults of upserts without a row."""
        if not rows.null_count:
            return
        found = f"the event has no row: `{AFTER}` is missing or null"
        if self._declared.database is SourceDatabase.MONGODB:
            found += (
                "; the connector has to send the whole document: "
                "set its `capture.mode` to `change_streams_update_full`"
            )
        is_empty = rows.is_null().to_numpy(zero_copy_only=False) & is_upsert & ~faults.is_faulty
        faults.add_all(np.flatnonzero(is_empty).tolist(), malformed(found))
