"""Tags of an opened table: checks a new tag and leases its snapshot; `TableTags` creates, deletes and expires tags."""

from collections.abc import Callable

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.tag import Tag
from braid.lake.maintenance.table_tags import TableTags
from braid.lake.snapshots.lease import Lease
from braid.lake.snapshots.table_store import TableStore
from braid.lake.snapshots.tag_store import checked_name
from braid.lake.table.arguments import check_snapshot_id, check_whole
from braid.lake.table.branches import refuse_branch
from braid.lake.table.operations.iceberg import publish_or_log


def table_tags(store: TableStore) -> TableTags:
    """Return the object that creates, deletes and expires tags.

    Raises:
        UnsupportedFeature: This is a branch.
    """
    refuse_branch(store.paths)
    return TableTags(store)


def create_tag(
    store: TableStore,
    name: str,
    *,
    snapshot_id: int | None,
    retained_ms: int | None,
    announce: Callable[[], None] | None,
) -> Tag:
    """Create a tag (see `Table.create_tag`)."""
    checked_name(name, field="tag")
    if snapshot_id is not None:
        check_snapshot_id(snapshot_id)
    check_whole(retained_ms=retained_ms)
    snapshots = store.snapshots
    snapshot = snapshots.latest() if snapshot_id is None else snapshots.get(snapshot_id)
    if snapshot is None:
        message = f"table {store.paths.identifier} has no snapshot to tag"
        raise InvalidRequest(message)
    if retained_ms is None:
        retained_ms = store.schema.table_options.tag_default_time_retained_ms
    elif retained_ms <= 0:
        problem = Problem(
            field="retained_ms", value=str(retained_ms), message="expected a duration above 0"
        )
        message = f"tag `{name}` cannot be created"
        raise InvalidRequest(message, problems=[problem])
    if announce is not None:
        announce()
    # Leased, so that no expiry ever sees a tag of files that are gone.
    lease = Lease(
        consumers=store.consumers,
        snapshots=snapshots,
        snapshot=snapshot,
        clock=store.clock,
        new_uuid=store.new_uuid,
        holder=f"the creation of tag {name}",
    )
    try:
        tag = table_tags(store).create(name, snapshot, retained_ms=retained_ms)
    finally:
        lease.release()
    publish_or_log(store, tagged=snapshot)
    return tag
