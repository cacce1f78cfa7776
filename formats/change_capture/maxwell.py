"""Reader of Maxwell's messages: `type` has the kind of the change, `data` the row, and `old` the values that an update replaced.

| `type` | message |
|---|---|
| `insert`, `update` | the row after the change |
| `bootstrap-insert` | the row as a bootstrap read it |
| `delete` | the row before the delete |
| `bootstrap-start`, `bootstrap-complete` | changes no row |
| another | refused |

An update whose `old` has a field of the key is a delete of the old key and an upsert of the new key.

Source: Maxwell's documentation, "Data format".
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.change_capture.changes import Bools, ReadChanges
from braid.formats.change_capture.envelopes import OpenedMessages, bare_messages
from braid.formats.change_capture.event_columns import (
    TEXT,
    EventColumns,
    are_in,
    json_field,
    unknown_kind,
)
from braid.formats.change_capture.positions import MAXWELL_FIELDS, maxwell_positions
from braid.formats.change_capture.row_texts import has_field, may_have_field, overlaid
from braid.formats.fault import Faults, malformed
from braid.formats.json.message_reader import TOO_DEEP, JsonReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader

_BOOTSTRAP: Final = "bootstrap-insert"
_UPSERTS: Final = ("insert", "update", _BOOTSTRAP)
_DELETE: Final = "delete"
_NOTHING: Final = ("bootstrap-start", "bootstrap-complete")


class MaxwellReader:
    """Reads the messages of one stream."""

    def __init__(
        self, columns: Sequence[MappedColumn], *, has_position: bool, key_fields: frozenset[str]
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns that are read from the messages.
            has_position: Whether the positions of the changes are read.
            key_fields: Fields of rows that the key is read from.
        """
        self._has_position = has_position
        self._key_fields = key_fields
        position = MAXWELL_FIELDS if has_position else ()
        fields = [
            MappedColumn(name="type", path=("type",), type=TEXT),
            *map(json_field, ("data", "old")),
            *(
                MappedColumn(name=name, path=(name,), type=TEXT, takes_scalars=name != "position")
                for name in position
            ),
        ]
        self._field_reader = EventColumns(fields, JsonReader)
        self._column_reader = EventColumns(columns, self.parts)

    def open(self, messages: pa.BinaryArray) -> OpenedMessages:
        """Return the messages, which have no envelopes (see `ChangeReader.open`)."""
        return bare_messages(messages)

    def parts(self, fields: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of fields of messages."""
        return reader_with_times(fields, JsonReader)

    def rows(
        self,
        columns: Sequence[MappedColumn],
        *,
        of_deletes: bool = False,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> MessageReader:
        """Return the reader of rows (see `ChangeReader.rows`)."""
        del of_deletes  # rows look alike
        return reader_with_times(
            columns,
            partial(
                JsonReader,
                paths_of_other_streams=paths_of_other_streams,
                finds_undeclared=finds_undeclared,
            ),
        )

    def row_types(self) -> None:
        """Return the types of rows, which no schema tells (see `ChangeReader.row_types`)."""

    def read(self, opened: OpenedMessages, keys: pa.BinaryArray) -> ReadChanges:
        """Return what a batch of messages says (see `ChangeReader.read`)."""
        del keys  # the row has the key
        messages = opened.payloads
        faults = Faults(len(messages))
        fields = self._field_reader.read(messages, faults)
        kind = fields["type"]
        is_there = messages.is_valid().to_numpy(zero_copy_only=False) & ~faults.is_faulty
        is_upsert = are_in(kind, _UPSERTS) & is_there
        is_delete = are_in(kind, (_DELETE,)) & is_there
        is_ignored = are_in(kind, _NOTHING) & is_there
        for row in np.flatnonzero(is_there & ~(is_upsert | is_delete | is_ignored)).tolist():
            expected = (*_UPSERTS, _DELETE, *_NOTHING)
            faults.add(row, unknown_kind(kind[row].as_py(), field="type", expected=expected))
        data = pc.if_else(
            pa.array(is_upsert | is_delete), fields["data"], pa.scalar(None, pa.binary())
        )
        is_empty = data.is_null().to_numpy(zero_copy_only=False) & (is_upsert | is_delete)
        no_row = malformed("the event has no row: `data` is missing or null")
        faults.add_all(np.flatnonzero(is_empty).tolist(), no_row)
        positions = None
        if self._has_position:
            is_read = pc.equal(kind, _BOOTSTRAP).fill_null(False)
            positions = maxwell_positions({n: fields[n] for n in MAXWELL_FIELDS}, is_read)
        changes = ReadChanges(
            rows=data,
            is_delete=is_delete,
            is_ignored=is_ignored,
            faults=faults,
            positions=positions,
            columns=self._column_reader.read(messages, faults),
        )
        is_update = are_in(kind, ("update",)) & ~faults.is_faulty
        return with_old_keys(changes, fields["old"], is_update, self._key_fields)


def with_old_keys(
    changes: ReadChanges, old: pa.BinaryArray, is_update: Bools, key_fields: frozenset[str]
) -> ReadChanges:
    """Return changes, with a delete of the old key in front of each update that has changed it.

    Args:
        changes: The changes, one row for each event.
        old: The values that each has replaced.
        is_update: Whether each is an update.
        key_fields: The fields of the key.
    """
    deletes: dict[int, bytes] = {}
    for event in np.flatnonzero(may_have_field(old, key_fields) & is_update).tolist():
        try:
            replaced = old[event].as_py()
            if has_field(replaced, key_fields):
                deletes[event] = overlaid(changes.rows[event].as_py(), replaced)
        except ValueError:
            changes.faults.add(event, malformed("`data` or `old` is not an object"))
        except RecursionError:
            changes.faults.add(event, TOO_DEEP)
    if not deletes:
        return changes
    count = len(changes.rows)
    counts = np.ones(count, np.int64)
    counts[list(deletes)] = 2
    events = np.repeat(np.arange(count), counts)
    is_old = np.concatenate(([False], events[1:] == events[:-1]))
    is_old = np.roll(is_old, -1)  # the first of two rows
    places = np.arange(count)[events]
    places[is_old] = count + np.arange(len(deletes))
    added = pa.array([deletes[event] for event in sorted(deletes)], changes.rows.type)
    return ReadChanges(
        rows=pa.concat_arrays([changes.rows, added]).take(pa.array(places)),
        events=events,
        is_delete=changes.is_delete[events] | is_old,
        is_ignored=changes.is_ignored,
        positions=None if changes.positions is None else changes.positions.take(pa.array(events)),
        columns=changes.columns,
        faults=changes.faults,
    )
