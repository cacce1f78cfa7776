"""Inspection of a table: views of its metadata as Arrow tables, made anew from the current state at each call."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import pyarrow as pa

from braid.lake.errors import InvalidRequest, Problem, adds_table_to_errors
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.live_table import LiveTable
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.tag_store import TagStore
from braid.lake.table.arguments import check_count
from braid.lake.table.inspection.file_views import (
    bucket_rows,
    file_rows,
    level_rows,
    partition_rows,
)
from braid.lake.table.inspection.history_views import compaction_rows, snapshot_rows
from braid.lake.table.inspection.metadata_views import consumer_rows, schema_rows, tag_rows
from braid.lake.table.read_at import ReadAt, SnapshotRef

VIEWS: Final = (
    "snapshots",
    "files",
    "buckets",
    "levels",
    "partitions",
    "compactions",
    "tags",
    "consumers",
    "schemas",
)
"""Names of all views, as `Inspection.view`, the command line and HTTP take them."""

_OF_A_SNAPSHOT: Final = ("files", "buckets", "levels", "partitions")
_OF_HISTORY: Final = ("snapshots", "compactions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Views of a table's metadata as Arrow tables; made by `Table.inspect`.

    Each call reads the current state. The columns of the views are documented where they are declared
    (`braid.lake.table.inspection`), and in the guide about inspection.

    Attributes:
        file_io: Storage.
        paths: Of the table or branch.
        schema: Newest.
        schema_store: Of the table.
        manifests: Shared with the table's readers.
        newest: Reads the newest snapshot and what is live in it.
        at: Reads what is live in the state that is named.
    """

    VIEWS: ClassVar[tuple[str, ...]] = VIEWS
    """Names of all views."""

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    schema_store: SchemaStore
    manifests: ManifestStore
    newest: Callable[[], tuple[Snapshot | None, LiveTable]]
    at: Callable[[ReadAt], LiveTable]

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self.paths.identifier

    @adds_table_to_errors
    def view(
        self,
        name: str,
        *,
        at: SnapshotRef | None = None,
        last: int | None = None,
    ) -> pa.Table:
        """Return a view by its name.

        Args:
            name: One of `VIEWS`.
            at: For views of one snapshot, its id or a `ReadAt`; None means the newest.
            last: For views of the history, how many of the newest snapshots are read; None means
                all.

        Raises:
            InvalidRequest: No such view or state, or an argument that the view does not take.
            CorruptData: Metadata cannot be read.
        """
        _check_arguments(name, ReadAt.of(at), last)
        views: dict[str, Callable[[], pa.Table]] = {
            "snapshots": lambda: self.snapshots(last),
            "files": lambda: self.files(at),
            "buckets": lambda: self.buckets(at),
            "levels": lambda: self.levels(at),
            "partitions": lambda: self.partitions(at),
            "compactions": lambda: self.compactions(last),
            "tags": self.tags,
            "consumers": self.consumers,
            "schemas": self.schemas,
        }
        assert views.keys() == set(VIEWS), "each view has a method"
        return views[name]()

    @adds_table_to_errors
    def snapshots(self, last: int | None = None) -> pa.Table:
        """Return the last snapshots that are kept (`SNAPSHOTS`); costs a read of each."""
        check_count("last", last)
        return snapshot_rows(self._kept(last))

    @adds_table_to_errors
    def files(self, at: SnapshotRef | None = None) -> pa.Table:
        """Return the live data files of a snapshot (`FILES`)."""
        live = self._live(at)
        return file_rows(live.entries, live.vectors, self.schema)

    @adds_table_to_errors
    def buckets(self, at: SnapshotRef | None = None) -> pa.Table:
        """Return runs, files and bytes of each bucket of a snapshot (`BUCKETS`)."""
        live = self._live(at)
        return bucket_rows(live.entries, live.vectors, self.schema)

    @adds_table_to_errors
    def levels(self, at: SnapshotRef | None = None) -> pa.Table:
        """Return space by level of a snapshot (`LEVELS`)."""
        live = self._live(at)
        return level_rows(live.entries, live.vectors)

    @adds_table_to_errors
    def partitions(self, at: SnapshotRef | None = None) -> pa.Table:
        """Return the partitions of a snapshot (`PARTITIONS`)."""
        return partition_rows(self._live(at).entries, self.schema)

    @adds_table_to_errors
    def compactions(self, last: int | None = None) -> pa.Table:
        """Return the compactions of each bucket among the last snapshots (`COMPACTIONS`)."""
        check_count("last", last)
        return compaction_rows(self._compactions(last), self.schema)

    @adds_table_to_errors
    def tags(self) -> pa.Table:
        """Return the tags (`TAGS`)."""
        return tag_rows(TagStore(self.file_io, self.paths).files())

    @adds_table_to_errors
    def consumers(self) -> pa.Table:
        """Return consumers and leases (`CONSUMERS`)."""
        return consumer_rows(ConsumerStore(self.file_io, self.paths).list())

    @adds_table_to_errors
    def schemas(self) -> pa.Table:
        """Return all schemas (`SCHEMAS`)."""
        newest = self.schema_store.latest_id()
        assert newest is not None, "a table has a schema"
        return schema_rows(self.schema_store.get(number) for number in range(newest + 1))

    def _live(self, at: SnapshotRef | None) -> LiveTable:
        chosen = ReadAt.of(at)
        # The newest snapshot may expire while it is read; `newest` takes its successor then.
        return self.newest()[1] if chosen.is_newest else self.at(chosen)

    def _kept(self, last: int | None) -> Iterator[Snapshot]:
        """Yield the last snapshots, oldest first; snapshots that expire meanwhile are left out."""
        store = SnapshotStore(self.file_io, self.paths)
        ids = sorted(store.list_ids())
        for number in ids if last is None else ids[-last:]:
            snapshot = store.find(number)
            if snapshot is not None:
                yield snapshot

    def _compactions(self, last: int | None) -> Iterator[tuple[Snapshot, Sequence[ManifestEntry]]]:
        for snapshot in self._kept(last):
            if snapshot.commit_kind is not CommitKind.COMPACT:
                continue
            try:
                manifests = self.manifests.read_list(snapshot.delta_manifest_list)
                yield (
                    snapshot,
                    [e for m in manifests for e in self.manifests.read_manifest(m.file_name)],
                )
            except ManifestGone:
                continue  # it has just expired


def _check_arguments(name: str, at: ReadAt, last: object) -> None:
    states = {"snapshot_id": at.snapshot_id, "tag": at.tag, "timestamp": at.timestamp}
    given = [argument for argument, value in states.items() if value is not None]
    problems: list[Problem] = []
    if name not in VIEWS:
        problems.append(
            Problem(
                field="view",
                value=str(name),
                message="no such view",
                hint=f"views: {', '.join(VIEWS)}",
            )
        )
    elif given and name not in _OF_A_SNAPSHOT:
        problems.append(
            Problem(
                field=given[0],
                value=str(states[given[0]]),
                message=f"the view `{name}` does not show one snapshot",
                hint=f"views of one snapshot: {', '.join(_OF_A_SNAPSHOT)}",
            )
        )
    elif last is not None and name not in _OF_HISTORY:
        problems.append(
            Problem(
                field="last",
                value=str(last),
                message=f"the view `{name}` does not list the history",
                hint=f"views of the history: {', '.join(_OF_HISTORY)}",
            )
        )
    elif last is not None and (not isinstance(last, int) or isinstance(last, bool) or last < 1):
        problems.append(
            Problem(field="last", value=str(last), message="expected a whole number from 1")
        )
    if problems:
        message = "the view does not exist, or does not take the arguments"
        raise InvalidRequest(message, problems=problems)
