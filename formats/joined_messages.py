"""Joining of a batch whose messages were read in parts, such as by several readers, or without the messages that are null."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.fault import Faults
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.lake import to_arrow_type


@dataclass(frozen=True, slots=True)
class ReadPart:
    """Some messages of a batch.

    Attributes:
        rows: Their rows in the batch, ascending.
        messages: What they hold.
    """

    rows: npt.NDArray[np.int64]
    messages: ReadMessages


def joined_messages(
    parts: Sequence[ReadPart], columns: Sequence[MappedColumn], faults: Faults
) -> ReadMessages:
    """Return what a batch of messages holds.

    Args:
        parts: The parts, which share no row. A row of no part is null in every column, and missing if it has no
            fault.
        columns: The columns that each part was read for.
        faults: The faults of the batch so far, to which those of the parts are added.
    """
    count = len(faults.is_faulty)
    if len(parts) == 1 and len(parts[0].rows) == count and not len(faults):
        return parts[0].messages
    order = np.zeros(count, np.int64)
    is_absent = np.ones(count, bool)
    first = 0
    for part in parts:
        order[part.rows] = np.arange(first, first + len(part.rows))
        is_absent[part.rows] = False
        first += len(part.rows)
        for row in part.messages.faults.rows:
            faults.add(int(part.rows[row]), part.messages.faults[row])
    places = pa.array(order, mask=is_absent)
    arrays = []
    for index, column in enumerate(columns):
        nothing = pa.nulls(0, to_arrow_type(column.type))
        found = [part.messages.arrays[index] for part in parts]
        arrays.append(pa.concat_arrays([nothing, *found]).take(places))
    undeclared = [part.rows[part.messages.with_undeclared] for part in parts]
    return ReadMessages(
        arrays=arrays,
        faults=faults,
        with_undeclared=np.sort(np.concatenate([np.zeros(0, np.int64), *undeclared])).tolist(),
        missing={
            column.name: _missing(column.name, parts, faults)
            for column in columns
            if column.finds_missing
        },
    )


def read_present(
    payloads: pa.BinaryArray,
    columns: Sequence[MappedColumn],
    read: Callable[[pa.BinaryArray], ReadMessages],
) -> ReadMessages:
    """Return what a batch of messages holds, of which those that are null are not read.

    Args:
        payloads: The messages.
        columns: The columns that messages are read for.
        read: Reads messages none of which is null.
    """
    if not payloads.null_count:
        return read(payloads)
    rows = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
    found = read(payloads.drop_null())
    return joined_messages([ReadPart(rows, found)], columns, Faults(len(payloads)))


def _missing(name: str, parts: Sequence[ReadPart], faults: Faults) -> pa.BooleanArray:
    is_missing = ~faults.is_faulty
    for part in parts:
        found = part.messages.missing.get(name)
        if found is None:
            is_missing[part.rows] = False
        else:
            is_missing[part.rows] = found.to_numpy(zero_copy_only=False)
    return pa.array(is_missing)
