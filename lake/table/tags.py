"""Tags and rollback: what a table can be read at, or taken back to."""

from dataclasses import dataclass

from lake.commit.committer import TableCommitter
from lake.errors import InvalidRequest, Problem
from lake.format.snapshot import Snapshot
from lake.format.tag import Tag
from lake.maintenance.rollback import RollbackResult, TableRollback
from lake.maintenance.table_tags import TableTags
from lake.snapshots.lease import Lease
from lake.snapshots.table_store import TableStore
from lake.snapshots.tag_store import checked_name
from lake.table.arguments import check_snapshot_id, check_whole
from lake.table.branches import refuse_branch


@dataclass(frozen=True, slots=True)
class TableHistory:
    """What names snapshots of a table, and takes it back to one.

    Attributes:
        store: Of the table.
    """

    store: TableStore

    @property
    def tags(self) -> TableTags:
        """What makes and deletes tags."""
        refuse_branch(self.store.paths)
        return TableTags(self.store)

    def create_tag(self, name: str, *, snapshot_id: int | None, retained_ms: int | None) -> Tag:
        """Make a tag (see `Table.create_tag`)."""
        checked_name(name, field="tag")
        if snapshot_id is not None:
            check_snapshot_id(snapshot_id)
        check_whole(retained_ms=retained_ms)
        snapshots = self.store.snapshots
        snapshot = snapshots.latest() if snapshot_id is None else snapshots.get(snapshot_id)
        if snapshot is None:
            message = f"table {self.store.paths.identifier} has no snapshot to tag"
            raise InvalidRequest(message)
        if retained_ms is None:
            retained_ms = self.store.schema.table_options.tag_default_time_retained_ms
        elif retained_ms <= 0:
            problem = Problem(
                field="retained_ms", value=str(retained_ms), message="expected a duration above 0"
            )
            message = f"tag `{name}` cannot be made"
            raise InvalidRequest(message, problems=[problem])
        # Leased, so that no expiry ever sees a tag of files that are gone.
        lease = Lease(
            consumers=self.store.consumers,
            snapshots=snapshots,
            snapshot=snapshot,
            clock=self.store.clock,
            new_uuid=self.store.new_uuid,
            holder=f"the making of tag {name}",
        )
        try:
            return self.tags.create(name, snapshot, retained_ms=retained_ms)
        finally:
            lease.release()

    def rollback(
        self, committer: TableCommitter, *, snapshot_id: int | None, tag: str | None, user: str
    ) -> RollbackResult:
        """Take the table back (see `Table.rollback`)."""
        if snapshot_id is not None:
            check_snapshot_id(snapshot_id)
        rollback = TableRollback(self.store, committer, commit_user=user)
        return rollback.run(self._target(snapshot_id, tag))

    def _target(self, snapshot_id: int | None, tag: str | None) -> Snapshot:
        if (snapshot_id is None) == (tag is None):
            problem = Problem(
                field="tag",
                value=tag,
                message="expected either a snapshot or a tag to go back to",
            )
            message = f"table {self.store.paths.identifier} cannot be taken back"
            raise InvalidRequest(message, problems=[problem])
        snapshots = self.store.snapshots
        if tag is None:
            assert snapshot_id is not None, "one of the two is given"
            return snapshots.get(snapshot_id)
        tagged = self.store.tags.get(tag).snapshot
        found = snapshots.find(tagged.id)
        # Its own file says more: other engines leave out of tags what they do not know.
        return found if found is not None and tagged.is_same(found) else tagged
