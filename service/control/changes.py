"""Pages of the changes of a range of snapshots.

A page ends after the requested number of rows, after the batch with which its rows reach `PAGE_BYTES`, or after
`PAGE_SNAPSHOTS` snapshots. So neither many rows nor many snapshots make a page slow. The next page may begin
within a snapshot: files whose rows were all returned are not opened again, and the returned rows of a file
are skipped.

If another page follows, this page and the rest of the range are leased for ten minutes, so that this page can
be requested again. Each page renews the lease, and the last one ends it.
"""

from dataclasses import replace
from typing import Any

from braid.formats.json_values import json_writer
from braid.lake import (
    Changes,
    ChangesExpired,
    ChangesMode,
    InvalidRequest,
    Problem,
    ReadAt,
    RowKind,
    Table,
    python_rows,
)
from braid.registry.layout.physical_table import shown_fields
from braid.service.control.changes_token import ChangesPosition, parse_token, to_token
from braid.service.control.consumers import end_lease, last_known_snapshot

PAGE_BYTES = 8 << 20
PAGE_SNAPSHOTS = 1_000
_BATCH_ROWS = 1_024


def first_position(
    table: Table,
    *,
    after: int | ReadAt | None,
    until: int | ReadAt | None,
    consumer: str | None,
    columns: tuple[str, ...] | None,
    mode: ChangesMode = ChangesMode.AUTO,
) -> ChangesPosition:
    """Return the position at the beginning of a range.

    Args:
        table: The table.
        after: The last snapshot that the reader has seen, by its id or as a state.
        until: The last snapshot of the range; None means the newest now.
        consumer: A consumer whose position is used instead of `after`.
        columns: Columns of the rows; None means all.
        mode: The files that changes are read from.

    Raises:
        InvalidRequest: No such range, column or consumer, or the table has no such changes.
        ChangesExpired: The first changes are not kept any more.
    """
    begin = _after(table, after, consumer)
    changes = table.changes(begin, until, columns=columns, mode=mode)
    return ChangesPosition(
        table=table.identifier,
        after_snapshot_id=changes.after_snapshot_id,
        until_snapshot_id=changes.until_snapshot_id,
        columns=columns,
        mode=mode,
        snapshot_id=changes.after_snapshot_id + 1,
        until_uuid=_until_uuid(changes),
    )


def read_page(table: Table, position: ChangesPosition, *, page_size: int) -> dict[str, Any]:
    """Return a page as JSON values (see `ChangesPage`).

    Args:
        table: The table.
        position: The first change of the page.
        page_size: The largest number of rows.

    Raises:
        ChangesExpired: The changes are not kept any more, or other snapshots have their ids since a
            rollback.
        InvalidRequest: The last snapshot of the range was removed by a rollback meanwhile.
    """
    assert page_size >= 1
    rows, following = _read(table, position, page_size=page_size)
    assert len(rows) <= page_size
    if following is not None:
        following = replace(following, lease_id=_lease(table, position))
    elif position.lease_id is not None:
        end_lease(table, position.lease_id)
    return {
        "changes": rows,
        "after_snapshot_id": position.after_snapshot_id,
        "until_snapshot_id": position.until_snapshot_id,
        "next_page_token": None if following is None else to_token(following),
    }


def position_of(table: Table, page_token: str) -> ChangesPosition:
    """Return the position that a page token stands for.

    Raises:
        InvalidRequest: The token is not one for changes of this table.
    """
    return parse_token(page_token, table=table.identifier)


def _until_uuid(changes: Changes) -> str | None:
    if changes.after_snapshot_id == changes.until_snapshot_id:
        return None
    return changes.snapshot(changes.until_snapshot_id).uuid


def _check_history(changes: Changes, position: ChangesPosition) -> None:
    """Refuse to continue after a rollback, after which other snapshots may have the ids of removed ones."""
    if changes.snapshot(position.until_snapshot_id).uuid != position.until_uuid:
        message = (
            f"table {position.table}: snapshot {position.until_snapshot_id} is not the same as for the "
            "first page, because the table was rolled back meanwhile\n"
            "hint: start again: read the newest snapshot, then the changes after it"
        )
        raise ChangesExpired(message)


def _after(table: Table, after: int | ReadAt | None, consumer: str | None) -> int | ReadAt:
    if (after is None) == (consumer is None):
        problem = Problem(
            field="after_snapshot_id",
            value=None if after is None else str(after),
            message="expected either the last snapshot that the reader has seen or a consumer",
            hint="0 starts at the beginning; a snapshot can also be named by a tag or a timestamp",
        )
        message = "the beginning of the changes is not given"
        raise InvalidRequest(message, problems=[problem])
    if after is not None:
        return after
    assert consumer is not None, "one of the two is given"
    hint = "create it: PUT …/consumers/{consumer} with `next_snapshot_id`"
    return last_known_snapshot(table, consumer, hint=hint)


def _read(
    table: Table, position: ChangesPosition, *, page_size: int
) -> tuple[list[dict[str, Any]], ChangesPosition | None]:
    """Return the rows of a page and the position of the next one; None after the last page."""
    until = position.until_snapshot_id
    last = min(until, position.snapshot_id + PAGE_SNAPSHOTS - 1)
    if last < position.snapshot_id:
        return [], None
    changes = table.changes(
        position.snapshot_id - 1,
        last,
        columns=position.columns,
        mode=position.mode,
        batch_rows=min(_BATCH_ROWS, page_size),
    )
    _check_history(changes, position)
    fields = (
        list(shown_fields(changes.schema))
        if position.columns is None
        else [changes.schema.field(name) for name in changes.columns]
    )
    names = [field.name for field in fields]
    write_row = json_writer(fields)
    rows: list[dict[str, Any]] = []
    size_bytes = 0
    for part in changes:
        done = position.skip_rows if part.snapshot_id == position.snapshot_id else 0
        for batch in part.to_batches(skip_rows=done):
            # A batch is cut at the page's end; the next page skips the rows that this page has returned.
            taken = batch.slice(0, page_size - len(rows))
            kinds = taken.column(0).to_pylist()
            values = python_rows(taken.select(names))
            rows += [
                {
                    "snapshot_id": part.snapshot_id,
                    "kind": RowKind(kind).symbol,
                    "row": write_row(row),
                }
                for kind, row in zip(kinds, values, strict=True)
            ]
            done += len(taken)
            size_bytes += taken.nbytes
            if len(rows) == page_size or size_bytes >= PAGE_BYTES:
                return rows, _following(position, part.snapshot_id, done, part.row_count)
    return rows, _following(position, last, 0, 0)


def _following(
    position: ChangesPosition, snapshot_id: int, done: int, count: int
) -> ChangesPosition | None:
    if done < count:
        return replace(position, snapshot_id=snapshot_id, skip_rows=done)
    if snapshot_id == position.until_snapshot_id:
        return None
    return replace(position, snapshot_id=snapshot_id + 1, skip_rows=0)


def _lease(table: Table, position: ChangesPosition) -> str:
    # From this page's first snapshot, not the next page's: the answer may be lost and requested again.
    begin, end = position.snapshot_id - 1, position.until_snapshot_id
    rest = table.changes(begin, end, mode=position.mode)
    return rest.lease(what="a page of changes", lease_id=position.lease_id).id
