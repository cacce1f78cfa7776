"""The door of the room: records of many versions in, one row per key out."""

from dataclasses import dataclass
from enum import Enum, auto

import pyarrow as pa

from lake.merge.spec import MergeSpec


class Machine(Enum):
    """Which execution of the one definition does the work."""

    COLUMN = auto()
    ROW = auto()


@dataclass(slots=True, kw_only=True)
class FoldCounters:
    """What folding has done so far; the only mutable value of the room, owned by the caller.

    Attributes:
        rows_in: Records taken in.
        rows_out: Rows given out, retracts included.
        row_machine_segments: Keys whose records went through the row machine.
        row_machine_rows: Records of those keys.
    """

    rows_in: int = 0
    rows_out: int = 0
    row_machine_segments: int = 0
    row_machine_rows: int = 0


def fold(
    table: pa.Table,
    spec: MergeSpec,
    *,
    machine: Machine = Machine.COLUMN,
    counters: FoldCounters | None = None,
) -> pa.Table:
    """Return one row per key, sorted by key.

    Args:
        table: Key-value table: `_SEQUENCE_NUMBER` int64, `_VALUE_KIND` int8, then table columns,
            those of `columns_needed` at least. Rows in any order; runs laid one after another,
            each sorted by key, oldest first, are the cheapest. Of two records with equal key,
            sequence fields and sequence number the one further down is the newer.
        spec: How the table's records merge.
        machine: Row is exact and slow; column gives the same answer.
        counters: Added to when given.

    Returns:
        The same columns. Every row is a copy: its kind and sequence number are the merge's result,
        and retracts are kept. A key with one record keeps that record untouched.

    Raises:
        SchemaMismatch: Null for a NOT NULL column, or a retract that the table does not allow.
    """
    raise NotImplementedError


def drop_retracts(table: pa.Table) -> pa.Table:
    """Return the key-value table without its rows of kind -U and -D, in the same order."""
    raise NotImplementedError
