"""The reader of a table's state for commits, and the check whether a commit fits that state.

One attempt to commit is planned for a `TableState`: the newest snapshot and schema, and the state
of the streams. `TableReader` reads this state, and applies those rules of
`braid.lake.commit.conflict` that the commit can break.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from braid.lake.commit.conflict import (
    Live,
    check_delta,
    check_files,
    check_levels,
    check_routing,
    check_total_buckets,
    check_vectors,
    check_writers,
)
from braid.lake.commit.intent import Intent
from braid.lake.commit.streams.stream_authority import (
    StreamAuthority,
    carries_stream_state,
    find_authority,
)
from braid.lake.errors import CorruptData, StorageUnavailable, TableNotFound
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import MAX_SEQUENCE_NUMBER_PROPERTY, CommitKind, Snapshot
from braid.lake.options.table_options import DYNAMIC_BUCKET
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.table_identity import TableIdentity

_WALKS_MAX: Final = 16
"""Attempts to walk down the snapshots while newer ones are committed and old ones expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The state of a table that an attempt is planned on.

    Attributes:
        latest: The newest snapshot, None before the first commit.
        schema: The newest schema.
        streams: State of the table's streams.
    """

    latest: Snapshot | None
    schema: TableSchema
    streams: StreamAuthority


class TableReader:
    """Reads the state of one table for commits, and checks commits against it."""

    def __init__(
        self,
        file_io: FileIO,
        paths: TablePaths,
        manifests: ManifestStore,
        live: LiveFiles,
        *,
        identity: TableIdentity | None = None,
        schemas: SchemaStore | None = None,
    ) -> None:
        """Make a reader.

        Args:
            file_io: Storage.
            paths: Paths of the table.
            manifests: Reads manifests.
            live: Finds live files; reads through `manifests`.
            identity: Identity of the intended table; None: that of the table that the first read finds.
            schemas: Cache of schemas to share with other readers of the table.
        """
        self._file_io = file_io
        self._paths = paths
        self._identity = identity
        self.snapshots = SnapshotStore(file_io, paths)
        self.schemas = schemas or SchemaStore(file_io, paths)
        self._manifests = manifests
        self._live = live
        self._known_streams: tuple[Snapshot, StreamAuthority] | None = None

    def state(self) -> TableState:
        """Return the newest state.

        Raises:
            TableNotFound: The directory has no schema, or holds another table by now.
            CorruptData: A schema or snapshot cannot be read.
        """
        latest, streams = self.newest()
        schema = self.schemas.latest()
        if schema is None:
            message = f"{self._paths.root} is not a table: it has no schema"
            raise TableNotFound(message)
        if self._identity is None:
            self._identity = TableIdentity(self._file_io, self._paths, schema)
        return TableState(latest=latest, schema=schema, streams=streams)

    def newest(self) -> tuple[Snapshot | None, StreamAuthority]:
        """Return the newest snapshot, None before the first commit, and the state of the table's streams.

        Raises:
            TableNotFound: The table is gone, or another one is in its place.
            CorruptData: A snapshot or manifest cannot be read.
            StorageUnavailable: Snapshots expire faster than the walk down reads them.
        """
        for _ in range(_WALKS_MAX):
            latest = self.latest_snapshot()
            streams = find_authority(
                latest, self.snapshots, self._manifests, known=self._known_streams
            )
            if latest is None:
                return None, streams
            # An incomplete result may only mean that expiry overtook the walk down: expiry may remove
            # the snapshots below `latest` once a newer one, perhaps of this engine, exists.
            if streams.is_complete or carries_stream_state(latest) or self._is_newest(latest):
                self._known_streams = (latest, streams)
                return latest, streams
        message = f"table {self._paths.root}: snapshots expire faster than they can be read"
        raise StorageUnavailable(message)

    def _is_newest(self, latest: Snapshot) -> bool:
        """Return whether a snapshot is the newest, so that no later one allowed those below it to expire."""
        # In this order: expiry removes the lower id first. So if the snapshot still exists, a successor
        # that was missing just before cannot have expired: it has never existed.
        return not self.snapshots.exists(latest.id + 1) and self.snapshots.exists(latest.id)

    def latest_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot of the intended table, None before the first commit.

        Raises:
            TableNotFound: The table is gone, or another one is in its place.
            CorruptData: A schema or snapshot cannot be read.
        """
        latest = self.snapshots.latest()
        if self._identity is not None:
            self._identity.confirm(latest)
        return latest

    def manifests_of(self, latest: Snapshot | None) -> tuple[ManifestFileMeta, ...]:
        """Return base and delta manifests of a snapshot, oldest first.

        Raises:
            ManifestGone: The snapshot has expired meanwhile.
        """
        if latest is None:
            return ()
        base = self._manifests.read_list(latest.base_manifest_list)
        return (*base, *self._manifests.read_list(latest.delta_manifest_list))

    def max_sequence_number(self, latest: Snapshot | None) -> int:
        """Return the highest sequence number in the table, -1 when it is empty.

        The number is a property of the snapshot. If another engine left the property out, it is computed
        from the entries of all live files.

        Raises:
            ManifestGone: The snapshot has expired meanwhile.
            CorruptData: The property is not a number.
        """
        if latest is None:
            return -1
        text = latest.properties.get(MAX_SEQUENCE_NUMBER_PROPERTY)
        if text is None:
            entries = self._live.by_identity(latest).values()
            return max((entry.file.max_sequence_number for entry in entries), default=-1)
        try:
            return int(text)
        except ValueError as error:
            message = (
                f"snapshot {latest.id}: {MAX_SEQUENCE_NUMBER_PROPERTY} is `{text}`, expected a "
                "whole number"
            )
            raise CorruptData(message) from error

    def check(self, intent: Intent, state: TableState) -> None:
        """Check that a commit fits the newest state (see `braid.lake.commit.conflict`).

        Raises:
            CommitConflict: The commit does not fit.
            InvalidRequest: The commit contradicts itself.
            ManifestGone: The snapshot has expired meanwhile.
        """
        delta = intent.changes.delta
        check_writers(intent.messages, state.schema, kind=intent.kind)
        check_delta(delta)
        self._check_indexes(intent, state)
        latest = state.latest
        # An append adds files under fresh names. On level 0 they fit any state; only sorted runs on higher
        # levels, and a bucket count that has changed since the table was created, need the live files.
        is_checked = (
            intent.kind is not CommitKind.APPEND
            or any(entry.file.level > 0 for entry in delta)
            or self._had_other_buckets(state.schema)
        )
        if not delta or not is_checked:
            return
        live = {} if latest is None else self._live_beside(latest, intent, state.schema)
        check_files(delta, live)
        check_total_buckets(delta, live, kind=intent.kind)
        check_levels(delta, live, state.schema.key_fields)

    def _live_beside(self, latest: Snapshot, intent: Intent, schema: TableSchema) -> Live:
        """Return the live files that a commit is checked against; of a large table only those of its buckets."""
        # The bucket count concerns all files of a partition. Where it has never changed and stays, no
        # other bucket has anything to do with the commit.
        if (
            intent.kind is CommitKind.OVERWRITE
            or not self._live.is_large(latest)
            or self._had_other_buckets(schema)
        ):
            return self._live.by_identity(latest)
        touched = {(entry.partition, entry.bucket) for entry in intent.changes.delta}
        return {entry.identity: entry for entry in self._live.of_buckets(latest, touched)}

    def _check_indexes(self, intent: Intent, state: TableState) -> None:
        is_routed = any(message.index_base is not None for message in intent.messages)
        is_routed |= state.schema.table_options.bucket == DYNAMIC_BUCKET
        replaces = [message for message in intent.messages if message.compact_before]
        if not is_routed and not replaces:
            return
        indexes = self._indexes_of(state.latest)
        check_routing(intent.messages, indexes, state.schema, kind=intent.kind)
        check_vectors(replaces, indexes)

    def _indexes_of(self, latest: Snapshot | None) -> tuple[IndexManifestEntry, ...]:
        """Return all index files of a snapshot; costs nothing when it has none."""
        if latest is None or latest.index_manifest is None:
            return ()
        return self._manifests.read_index_manifest(latest.index_manifest)

    def is_in_successor(self, snapshot_id: int, delta: Sequence[ManifestEntry]) -> bool:
        """Return whether the next existing snapshot was built on these changes.

        True iff a file that the changes add is live in that snapshot, or is deleted by that snapshot itself.

        Raises:
            ManifestGone: The snapshot has expired meanwhile.
        """
        successor = self.snapshots.find_above(snapshot_id)
        if successor is None:
            return False
        held = set(self._live.by_identity(successor))
        for manifest in self._manifests.read_list(successor.delta_manifest_list):
            held.update(e.identity for e in self._manifests.read_manifest(manifest.file_name))
        return any(entry.identity in held for entry in delta if entry.kind is FileKind.ADD)

    def _had_other_buckets(self, schema: TableSchema) -> bool:
        """Return whether any older schema has another bucket count.

        Only then can files of a partition have another count than the newest schema.
        """
        buckets = schema.table_options.bucket
        return any(
            self.schemas.get(schema_id).table_options.bucket != buckets
            for schema_id in range(schema.id)
        )
