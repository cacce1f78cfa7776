"""Expiry of an opened table's snapshots, which first carries the positions of streams forward; or only its plan."""

from contextlib import suppress
from typing import Final

from braid.lake.errors import CommitConflict, CommitUnknown, StorageUnavailable
from braid.lake.maintenance.expiry.expiry_result import ExpiryResult
from braid.lake.maintenance.expiry.table_expiry import TableExpiry, snapshot_retention
from braid.lake.table.arguments import check_flags, check_whole
from braid.lake.table.branches import refuse_branch
from braid.lake.table.opened_table import OpenedTable

_COMMIT_USER: Final = "braid-expiry"
"""Commit user of the empty commit that carries the positions of streams forward."""


def expire(
    table: OpenedTable,
    *,
    retain_min: int | None,
    retain_max: int | None,
    older_than_ms: int | None,
    max_deletes: int | None,
    dry_run: bool,
) -> ExpiryResult:
    """Expire snapshots (see `Table.expire`)."""
    store = table.confirmed_store()
    check_whole(
        retain_min=retain_min,
        retain_max=retain_max,
        older_than_ms=older_than_ms,
        max_deletes=max_deletes,
    )
    check_flags(dry_run=dry_run)
    retention = snapshot_retention(
        store.schema,
        now_ms=store.clock.now_ms(),
        retain_min=retain_min,
        retain_max=retain_max,
        older_than_ms=older_than_ms,
        max_deletes=max_deletes,
    )
    refuse_branch(store.paths)
    expiry = TableExpiry(store=store)
    if not dry_run:
        # Where the commit is not possible now, the snapshot that has the positions stays.
        with suppress(CommitConflict, CommitUnknown, StorageUnavailable):
            table.committer().carry_positions(commit_user=_COMMIT_USER)
        return expiry.run(retention)
    plan = expiry.plan(retention)
    if plan is None:
        return ExpiryResult()
    return ExpiryResult(
        snapshots=tuple(range(plan.begin, plan.end)), earliest=plan.end, held_by=plan.held_by
    )
