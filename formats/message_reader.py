"""Reader of messages: the interface (`MessageReader`), and what a reader returns for a batch (`ReadMessages`).

Every message format has a reader with this interface. The formats of captured changes have one for the rows of their events;
the events themselves have another interface (`change_capture.changes`). Readers of keys and headers also return `ReadMessages`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from braid.formats.fault import Faults
from braid.formats.mapped_column import MappedColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessages:
    """What a batch of messages holds for the columns of a stream.

    Attributes:
        arrays: One array per column, in the columns' order, in the Arrow form of the column's type; null
            where a message has no value. What a faulty message has in its columns does not count.
        faults: The faults of messages and of values, by row.
        with_undeclared: Rows whose message may have fields that no column is read from, ascending; empty
            unless the reader was told to find them.
        missing: By name of each column with `finds_missing`, without nulls: where the message has no such
            field, neither with a value nor with null. What it says of a faulty message does not count.
            Empty for a format whose messages always have every field.
    """

    arrays: list[pa.Array]
    faults: Faults
    with_undeclared: list[int]
    missing: Mapping[str, pa.BooleanArray] = field(default_factory=dict)


class MessageReader(Protocol):
    """Reads the values of a stream's records, or their keys."""

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages.

        Args:
            payloads: The messages; a null is read as a message without any field.
        """
        ...

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars, to search it for undeclared fields.

        Raises:
            ValueError: It is no message of the format.
            RecursionError: It is nested too deeply.
        """
        ...


ReaderOf: TypeAlias = Callable[[Sequence[MappedColumn]], MessageReader]
"""Returns the reader of some columns of the same messages."""
