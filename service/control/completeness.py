"""Counts of a table's rows by the state of each sequence group, from a scan of the columns that show the states."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from braid.lake import ReadAt, Scan, Table
from braid.registry.layout.physical_table import physical_groups
from braid.schemas import GroupState, TableDocument
from braid.service.control.group_states import group_states
from braid.service.control.row_status import status_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletenessCount:
    """The rows of one snapshot by their states.

    Attributes:
        rows: Number of rows.
        complete: Number of complete rows.
        groups: By group and state, the number of rows; together `rows` for each group.
        measured_ms: The time at which ages were measured, milliseconds since 1970.
        turns_stale_ms: The time from which `stale` is too small, milliseconds since 1970; None: the counts do not change.
    """

    rows: int
    complete: int
    groups: Mapping[str, Mapping[GroupState, int]]
    measured_ms: int
    turns_stale_ms: int | None


def scan_of_states(table: Table, document: TableDocument, at: ReadAt) -> Scan:
    """Return a scan of the columns that show the states of rows.

    Raises:
        InvalidRequest: There is no such state.
    """
    scan = table.scan(at=at)
    columns = status_columns(document, scan.schema) or scan.schema.primary_keys
    return replace(scan, columns=tuple(dict.fromkeys(columns)))


def count_states(
    scan: Scan,
    document: TableDocument,
    *,
    measured_ms: int,
    on_progress: Callable[[float], None] = lambda _: None,
) -> CompletenessCount:
    """Return the counts of a scan's rows.

    Args:
        scan: Of `scan_of_states`.
        document: The table's declaration.
        measured_ms: The time at which ages are measured, milliseconds since 1970.
        on_progress: Called with the part that is done, from 0 to 1, after each batch; may raise to end the scan.

    Raises:
        LakeError: As `Scan.to_batches`.
    """
    records = sum(file.row_count for split in scan.plan().splits for file in split.files)
    groups = {group.name: Counter[GroupState]() for group in physical_groups(document.table)}
    rows = complete = 0
    turns_stale_ms: list[int] = []
    for batch in scan.to_batches():
        states = group_states(document, scan.schema, batch, now_ms=measured_ms)
        for name, masks in states.masks.items():
            groups[name].update({state: int(mask.sum()) for state, mask in masks.items()})
        rows += batch.num_rows
        complete += int(states.complete.sum())
        turns_stale_ms += [] if states.turns_stale_ms is None else [states.turns_stale_ms]
        on_progress(rows / records)
    assert all(counts.total() == rows for counts in groups.values()), "each row has one state"
    return CompletenessCount(
        rows=rows,
        complete=complete,
        groups={
            name: {state: counts[state] for state in GroupState} for name, counts in groups.items()
        },
        measured_ms=measured_ms,
        turns_stale_ms=min(turns_stale_ms, default=None),
    )
