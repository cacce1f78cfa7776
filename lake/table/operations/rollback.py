"""Rollback of an opened table to a snapshot or a tag."""

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.snapshot import Snapshot
from braid.lake.maintenance.rollback import RollbackResult, TableRollback
from braid.lake.snapshots.table_store import TableStore
from braid.lake.table.arguments import check_snapshot_id, check_text
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.operations.iceberg import publish_or_log


def rollback(
    table: OpenedTable, *, snapshot_id: int | None, tag: str | None, commit_user: str | None
) -> RollbackResult:
    """Take the table back (see `Table.rollback`)."""
    check_text(commit_user=commit_user)
    user = commit_user or str(table.store.new_uuid())
    store, committer = table.confirmed_store(), table.committer()
    if snapshot_id is not None:
        check_snapshot_id(snapshot_id)
    target = _target(store, snapshot_id, tag)
    result = TableRollback(store, committer, commit_user=user).run(target)
    publish_or_log(store)
    return result


def _target(store: TableStore, snapshot_id: int | None, tag: str | None) -> Snapshot:
    if (snapshot_id is None) == (tag is None):
        problem = Problem(
            field="tag",
            value=tag,
            message="expected either a snapshot or a tag to roll back to",
        )
        message = f"table {store.paths.identifier} cannot be rolled back"
        raise InvalidRequest(message, problems=[problem])
    snapshots = store.snapshots
    if tag is None:
        assert snapshot_id is not None, "one of the two is given"
        return snapshots.get(snapshot_id)
    tagged = store.tags.get(tag).snapshot
    found = snapshots.find(tagged.id)
    # The snapshot's own file has more: other engines leave out of tags what they do not know.
    return found if found is not None and tagged.is_same(found) else tagged
