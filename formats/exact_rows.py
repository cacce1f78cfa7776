"""Reading of single messages of a batch: the values of a message's columns, found by their paths, or the message's fault.

The values are then put at the message's row of the batch. The caller passes the function that reads one value, so several
formats share this module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.arrays import replace_rows
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.json.exact_values import ValueFault
from braid.formats.mapped_column import MappedColumn

MISSING: Final = object()
"""Placeholder for the value of a field that a message does not have."""


def value_at(tree: Any, column: MappedColumn, *, kind: Callable[[Any], str]) -> Any:
    """Return the field that a column is read from; `MISSING` where the message has none.

    A message has no field of an object that it does not have, or that is null.

    Args:
        tree: The message, its objects as dicts.
        column: The column.
        kind: Returns what a value is, in words, for faults.

    Raises:
        ValueFault: A field on the way to it is not an object.
    """
    value: Any = tree
    for depth, name in enumerate(column.path):
        if value is None or value is MISSING:
            return MISSING
        if not isinstance(value, dict):
            address = ".".join(column.path[:depth])
            raise ValueFault(DeadLetterReason.WRONG_TYPE, address, kind(value), "an object")
        value = value.get(name, MISSING)
    return value


def column_values(
    tree: Any,
    columns: Iterable[MappedColumn],
    *,
    kind: Callable[[Any], str],
    read: Callable[[Any, MappedColumn], Any],
) -> list[Any] | Fault:
    """Return the values of all columns, in the form that `pa.array` accepts, or the first fault.

    Args:
        tree: The message, its objects as dicts.
        columns: The columns, with their paths in the message.
        kind: Returns what a value is, in words, for faults.
        read: Returns a field's value in the form of its column; raises ValueFault where it does not fit.

    Returns:
        The values; `MISSING` where the message has no such field.
    """
    values = []
    for column in columns:
        try:
            value = value_at(tree, column, kind=kind)
        except (
            ValueFault
        ) as fault:  # of an object around the field, which other columns may need, too
            return Fault(fault.reason, _found(fault))
        try:
            values.append(value if value is MISSING else read(value, column))
        except ValueFault as fault:
            return Fault(fault.reason, f"{_found(fault)} for {column.purpose}")
    return values


def _found(fault: ValueFault) -> str:
    return f"field {fault.address}: found {fault.found}, expected {fault.expected}"


def with_exact_rows(
    arrays: Sequence[pa.Array],
    rows: Sequence[int],
    found: Iterable[list[Any] | Fault | None],
    *,
    columns: Sequence[MappedColumn],
    missing: Mapping[str, npt.NDArray[np.bool_]],
    faults: Faults,
) -> list[pa.Array]:
    """Return the columns of a batch with some rows read exactly.

    Args:
        arrays: The columns of the batch, one array each.
        rows: The rows, ascending.
        found: For each of these rows what `column_values` returns; None leaves it null, as missing as it was.
        columns: The columns.
        missing: By name, where each column's field is missing, for columns that tell; these rows are set.
        faults: The faults of the batch, to which those of the rows are added.
    """
    values: list[list[Any]] = [[None] * len(rows) for _ in columns]
    for place, (row, of_row) in enumerate(zip(rows, found, strict=True)):
        if of_row is None:
            continue
        if isinstance(of_row, Fault):
            faults.add(row, of_row)
            for is_missing in missing.values():
                is_missing[row] = False
            continue
        for column, of_column, value in zip(columns, values, of_row, strict=True):
            if column.finds_missing:
                missing[column.name][row] = value is MISSING
            of_column[place] = None if value is MISSING else value
    return [replace_rows(old, rows, new) for old, new in zip(arrays, values, strict=True)]
