"""Interface of the readers of captured changes: every format of captured changes has a reader with this interface.

A message is an event: one or more rows, as they are after a change or were before a delete, and the kind of the change. `open`
takes the event out of its envelope; conditions use the fields of opened events. `read` returns the rows of the events as
payloads, with the kind of each row; the reader that `rows` returns reads columns from these payloads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.change_capture.envelopes import OpenedMessages
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.message_types import MessageTypes

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

TRUNCATE: Final = Fault(
    DeadLetterReason.TRUNCATE,
    "the event says that all rows of the source table were removed (truncate); a stream cannot apply it, "
    "because the stream knows only the keys of its own records",
)
"""The fault of an event that empties its table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChanges:
    """What a batch of events says.

    Attributes:
        rows: The rows to read, in the order of the events; null where there is none to read.
        events: For each row the place of its event, ascending, each event at least once; None: each event
            has one row.
        is_delete: Whether each row is a delete.
        is_ignored: Whether each event changes no row.
        positions: Each row's position in the log of its database; None where the stream does not read it.
        columns: By name, the columns that are read from the events, one value for each event.
        faults: The faults of events.
    """

    rows: pa.BinaryArray
    is_delete: Bools
    is_ignored: Bools
    faults: Faults
    events: Ints | None = None
    positions: pa.BinaryArray | None = None
    columns: Mapping[str, pa.Array] = field(default_factory=dict)


class ChangeReader(Protocol):
    """Reads the events of one stream."""

    def open(self, messages: pa.BinaryArray) -> OpenedMessages:
        """Return the events of a batch of messages; null where a message is null, or says nothing."""
        ...

    def parts(self, fields: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of fields of opened events."""
        ...

    def read(self, opened: OpenedMessages, keys: pa.BinaryArray) -> ReadChanges:
        """Return what a batch of opened events says.

        Args:
            opened: The events; one that is null has a row that is null.
            keys: The Kafka keys of their records.
        """
        ...

    def rows(
        self,
        columns: Sequence[MappedColumn],
        *,
        of_deletes: bool = False,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> MessageReader:
        """Return the reader of rows of the events that were read last.

        Args:
            columns: The columns.
            of_deletes: Whether the rows are those of deletes, and of no other changes.
            paths_of_other_streams: Paths that other streams of the table read from the same topic.
            finds_undeclared: Whether rows with fields from which no column is read are reported.
        """
        ...

    def row_types(self) -> MessageTypes | None:
        """Return the types of the rows of the events that were read last; None where no schema tells them.

        A reader that was not prepared to tell them (`change_reader`) may find none.
        """
        ...
