"""Columns of events: the fields of a batch of events by name, for events in any message format.

`database_columns` returns columns as they are read from the rows of events. The module also has the fault for an event whose kind is unknown (`unknown_kind`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.fault import Fault, Faults, malformed
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReaderOf
from braid.lake import TypeRoot, parse_type

TEXT: Final = parse_type("STRING")
"""The type of fields that say what an event is."""

_BYTES: Final = parse_type("BYTES")
_SHOWN_MAX: Final = 80


def json_field(name: str) -> MappedColumn:
    """Return the column of a field at the top of an event in JSON, whose value stays JSON: a row, or a list of rows."""
    return MappedColumn(name=name, path=(name,), type=_BYTES, keeps_json=True)


def database_columns(columns: Sequence[MappedColumn]) -> list[MappedColumn]:
    """Return columns as they are read from rows of databases, where texts for a VARIANT hold JSON, and null is null."""
    return [
        replace(column, holds_json=True) if column.type.root is TypeRoot.VARIANT else column
        for column in columns
    ]


class EventColumns:
    """Reads columns from events, perhaps none."""

    def __init__(self, columns: Sequence[MappedColumn], reader_of: ReaderOf) -> None:
        """Prepare to read.

        Args:
            columns: The columns.
            reader_of: Returns the reader of columns of the events.
        """
        self._names = tuple(column.name for column in columns)
        self._reader = reader_of(columns) if columns else None

    def read(self, events: pa.BinaryArray, faults: Faults) -> dict[str, pa.Array]:
        """Return the columns of a batch of events, by name.

        Args:
            events: The events; one that is null has no field.
            faults: The faults of the events, to which those of the columns are added.
        """
        if self._reader is None:
            return {}
        found = self._reader.read(events)
        faults.add_found(found.faults)
        return dict(zip(self._names, found.arrays, strict=True))


def are_in(texts: pa.StringArray, values: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return where texts are one of some values; false for null."""
    found: npt.NDArray[np.bool_] = pc.is_in(texts, pa.array(values)).to_numpy(zero_copy_only=False)
    return found


def unknown_kind(found: str | None, *, field: str, expected: Sequence[str]) -> Fault:
    """Return the fault of an event that is of no known kind.

    Args:
        found: The kind that it names; None: it names none.
        field: The field with the kind.
        expected: The kinds of events with rows.
    """
    what = "the message is not a change event: " if found is None else ""
    shown = "nothing" if found is None else f"`{found[:_SHOWN_MAX]}`"
    return malformed(f"{what}found {shown} in `{field}`, expected one of {', '.join(expected)}")
