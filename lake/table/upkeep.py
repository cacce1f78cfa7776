"""Tags, rollback and orphan cleaning, as the facade offers them."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from lake.commit.committer import TableCommitter
from lake.errors import InvalidRequest, Problem, UnsupportedFeature
from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.format.tag import Tag
from lake.maintenance.orphan_files import OrphanCleaner, OrphanReport
from lake.maintenance.rollback import RollbackResult, TableRollback
from lake.maintenance.table_tags import TableTags
from lake.snapshots.consumer_store import ConsumerStore
from lake.snapshots.lease import Lease
from lake.snapshots.live_files import LiveFiles
from lake.snapshots.manifest_store import ManifestStore
from lake.snapshots.snapshot_store import SnapshotStore
from lake.snapshots.tag_store import TagStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TableUpkeep:
    """What changes which snapshots and files a table has, and no row of any.

    Attributes:
        file_io: Storage.
        paths: Of the table.
        schema: Newest.
        manifests: Shared with the table's readers.
        live: Likewise.
        clock: Says what time it is.
        new_uuid: Makes names.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    manifests: ManifestStore
    live: LiveFiles
    clock: Clock
    new_uuid: Callable[[], UUID]

    @property
    def tags(self) -> TableTags:
        """What makes and deletes tags."""
        refuse_branch(self.paths)
        return TableTags(
            file_io=self.file_io,
            paths=self.paths,
            schema=self.schema,
            manifests=self.manifests,
            live=self.live,
            clock=self.clock,
        )

    def create_tag(self, name: str, *, snapshot_id: int | None, retained_ms: int | None) -> Tag:
        """Make a tag (see `Table.create_tag`)."""
        snapshots = SnapshotStore(self.file_io, self.paths)
        snapshot = snapshots.latest() if snapshot_id is None else snapshots.get(snapshot_id)
        if snapshot is None:
            message = f"table {self.paths.identifier} has no snapshot to tag"
            raise InvalidRequest(message)
        if retained_ms is None:
            retained_ms = self.schema.table_options.tag_default_time_retained_ms
        elif retained_ms <= 0:
            problem = Problem(
                field="retained_ms", value=str(retained_ms), message="expected a duration above 0"
            )
            message = f"tag `{name}` cannot be made"
            raise InvalidRequest(message, problems=[problem])
        # Leased, so that no expiry ever sees a tag of files that are gone.
        lease = Lease(
            consumers=ConsumerStore(self.file_io, self.paths),
            snapshots=snapshots,
            snapshot=snapshot,
            clock=self.clock,
            new_uuid=self.new_uuid,
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
        refuse_branch(self.paths)
        rollback = TableRollback(
            file_io=self.file_io, paths=self.paths, committer=committer, commit_user=user
        )
        return rollback.run(self._target(snapshot_id, tag))

    def clean_orphans(self, *, min_age_ms: int, delete: bool) -> OrphanReport:
        """Find, or delete, what nothing names (see `Table.clean_orphans`)."""
        cleaner = OrphanCleaner(
            file_io=self.file_io,
            paths=self.paths,
            partition_depth=len(self.schema.partition_keys),
            manifests=self.manifests,
        )
        return cleaner.clean(now_ms=self.clock.now_ms(), min_age_ms=min_age_ms, delete=delete)

    def _target(self, snapshot_id: int | None, tag: str | None) -> Snapshot:
        if (snapshot_id is None) == (tag is None):
            problem = Problem(
                field="tag",
                value=tag,
                message="expected either a snapshot or a tag to go back to",
            )
            message = f"table {self.paths.identifier} cannot be taken back"
            raise InvalidRequest(message, problems=[problem])
        snapshots = SnapshotStore(self.file_io, self.paths)
        if tag is None:
            assert snapshot_id is not None, "one of the two is given"
            return snapshots.get(snapshot_id)
        tagged = TagStore(self.file_io, self.paths).get(tag).snapshot
        found = snapshots.find(tagged.id)
        # Its own file says more: other engines leave out of tags what they do not know.
        return found if found is not None and tagged.is_same(found) else tagged


def refuse_branch(paths: TablePaths) -> None:
    """Refuse to change a branch: its data files are the main branch's as well.

    Raises:
        UnsupportedFeature: These are the paths of a branch.
    """
    if paths.branch:
        problem = Problem(
            field="branch",
            value=paths.branch,
            message="this version reads branches and changes only the main one",
        )
        message = f"branch `{paths.branch}` of table {paths.identifier} cannot be changed"
        raise UnsupportedFeature(message, problems=[problem])
