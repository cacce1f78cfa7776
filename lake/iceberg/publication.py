"""Bringing the Iceberg metadata of a table to the state of its newest snapshot.

A publication compares the files that the metadata name with those of the highest level now, so it needs to know
nothing of the commits between: one that failed or was never begun is made up for by the next. It is made after the
commit of a compaction, before snapshots expire, and when tags change, and never holds up a commit.

1. List the versions of the metadata file, *then* read the newest snapshot: a version above the newest snapshot is of
   history that a rollback has removed.
2. Take the newest version of the table's history as the base; without one, everything is written anew.
3. Write the manifests that change, a manifest list and the metadata file, whose version is the id of the newest
   snapshot. The file is created exclusively: of two processes one makes the version, and the other finds its work
   done. Only a version of removed history, and one that gets other tags alone, is replaced.
4. Point `version-hint.text` at it. A process that was overtaken points it at the newer version afterwards.
5. Delete the versions of removed history, older versions, and the manifests that no version needs any more.

An Iceberg snapshot stays in the metadata while the table's snapshot of its id, or a tag of that, keeps its files. So a
publication before an expiry, which knows what will expire, leaves nothing in the metadata whose files go.

A process that dies leaves files that nothing references, which the search for orphans finds.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from braid.lake.errors import CorruptData, StorageUnavailable
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.iceberg.avro_files import encode_list, encode_manifest
from braid.lake.iceberg.data_files import iceberg_data_file, published_files
from braid.lake.iceberg.manifest_changes import (
    ManifestPlan,
    MergeLimits,
    ReadManifest,
    plan_manifests,
)
from braid.lake.iceberg.manifest_entries import (
    IcebergDataFile,
    IcebergManifest,
    describe_manifest,
)
from braid.lake.iceberg.metadata_directory import (
    MetadataDirectory,
    directory_of,
    is_published,
)
from braid.lake.iceberg.metadata_document import (
    ChangeCounts,
    IcebergMetadata,
    IcebergSnapshot,
    new_snapshot,
    serialize_metadata,
)
from braid.lake.iceberg.table_columns import has_counterpart
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.snapshots.table_store import TableStore

logger = logging.getLogger(__name__)

_ATTEMPTS_MAX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What a publication begins with.

    Attributes:
        schema: The newest schema.
        snapshot: The newest snapshot.
        versions: Versions of the metadata file, newest first.
        base: The newest version of the table's history; None without one.
        read: The manifests of the base.
        live: The files of the base by name.
    """

    schema: TableSchema
    snapshot: Snapshot
    versions: Sequence[int]
    base: IcebergMetadata | None
    read: Sequence[ReadManifest]
    live: Mapping[str, IcebergDataFile]


def publish(
    store: TableStore,
    *,
    expiring_below: int = 0,
    without_tag: str | None = None,
    tagged: Snapshot | None = None,
) -> int | None:
    """Bring the Iceberg metadata to the state of the newest snapshot.

    Args:
        store: Store of the table.
        expiring_below: Table snapshots below this id are about to expire.
        without_tag: A tag that is about to be deleted.
        tagged: A snapshot that has got a tag: it gets an Iceberg snapshot if it is the newest.

    Returns:
        The version of the metadata file; None where there is nothing to publish: the table's options do not ask
        for Iceberg metadata, or it has no snapshot, or this is a branch.

    Raises:
        CorruptData: The table's own metadata cannot be read.
        InvalidRequest: The table is in no warehouse, where its options put the metadata.
        StorageUnavailable: Storage failed, or other processes publish faster; publish again.
    """
    if store.paths.branch or not is_published(store.schema.table_options):
        return None
    publication = _Publication(
        store=store, expiring_below=expiring_below, without_tag=without_tag, tagged=tagged
    )
    return publication.run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Publication:
    """One publication; the attributes are the arguments of `publish`."""

    store: TableStore
    expiring_below: int
    without_tag: str | None
    tagged: Snapshot | None

    def run(self) -> int | None:
        """Publish (see `publish`)."""
        for _ in range(_ATTEMPTS_MAX):
            schema = self.store.schemas.latest()
            if schema is None or not is_published(schema.table_options):
                return None
            if not has_counterpart(schema):
                # Refused when it is declared, so the schema is another engine's.
                logger.warning("a column of %s has no type of Iceberg", self.store.paths.root)
                return None
            path = directory_of(self.store.paths, schema.table_options)
            directory = MetadataDirectory(self.store.file_io, path, self.store.manifests.cache)
            versions = directory.versions()
            snapshot = self.store.snapshots.latest()
            if snapshot is None:
                return None
            # The snapshot may expire while it is read: then there is a newer one.
            with suppress(ManifestGone):
                version = self._attempt(directory, schema, snapshot, versions)
                if version is not None:
                    return version
        text = f"Iceberg metadata of {self.store.paths.root}: other processes publish faster"
        raise StorageUnavailable(text)

    def _attempt(
        self,
        directory: MetadataDirectory,
        schema: TableSchema,
        snapshot: Snapshot,
        versions: Sequence[int],
    ) -> int | None:
        """Publish a snapshot; return the version, None if another process has published meanwhile."""
        base, read = self._base(directory, snapshot, versions)
        live = {
            entry.file.name: entry.file
            for manifest in read
            for entry in manifest.entries
            if entry.is_live
        }
        state = _State(
            schema=schema,
            snapshot=snapshot,
            versions=versions,
            base=base,
            read=read,
            live=live,
        )
        wanted = published_files(self.store.live.entries(snapshot), schema)
        removed = live.keys() - wanted.keys()
        fresh = [entry for name, entry in wanted.items() if name not in live]
        # The live files of a large table are known without their bounds.
        added = [entry for part in self.store.live.whole(snapshot, fresh) for entry in part]
        is_new = base is None or bool(removed) or bool(added) or self._is_tagged(snapshot, base)
        metadata = base
        written: list[str] = []
        if is_new:
            metadata = self._with_snapshot(directory, state, removed, added, written)
        assert metadata is not None, "without a base there is a new snapshot"
        metadata = self._with_kept(metadata, state)
        if metadata == base:
            if directory.read_hint() != base.version or versions[0] != base.version:
                self._finish(directory, state, metadata)
            return metadata.version
        if not self._create(directory, metadata, state):
            directory.delete(written)
            return None
        self._finish(directory, state, metadata)
        return metadata.version

    def _base(
        self, directory: MetadataDirectory, snapshot: Snapshot, versions: Sequence[int]
    ) -> tuple[IcebergMetadata | None, Sequence[ReadManifest]]:
        """Return the newest version of the table's history with its manifests."""
        for version in versions:
            try:
                metadata = directory.read(version)
                if metadata is None or not self._is_of_history(metadata, snapshot):
                    continue
                manifests = directory.read_list(metadata.current.manifest_list)
                read = [
                    ReadManifest(manifest=found, entries=directory.read_manifest(found.path))
                    for found in manifests
                ]
            except CorruptData as error:
                # Nothing of the table is lost: they are written anew from its own metadata.
                logger.warning("Iceberg metadata are written anew: %s", error)
                continue
            return metadata, read
        return None, ()

    def _is_of_history(self, metadata: IcebergMetadata, newest: Snapshot) -> bool:
        current = metadata.current
        if current.id > newest.id:
            return False
        found = newest if current.id == newest.id else self.store.snapshots.find(current.id)
        # A snapshot that has expired cannot be compared; a rollback leaves none below its target.
        return found is None or current.is_of(found)

    def _is_tagged(self, snapshot: Snapshot, base: IcebergMetadata) -> bool:
        """Return whether the newest snapshot gets an Iceberg snapshot for its tag alone."""
        return snapshot.is_same(self.tagged) and base.current.id != snapshot.id

    def _with_snapshot(
        self,
        directory: MetadataDirectory,
        state: _State,
        removed: Collection[str],
        added: Sequence[ManifestEntry],
        written: list[str],
    ) -> IcebergMetadata:
        """Write manifests and a manifest list; return the metadata with the new snapshot.

        Args:
            directory: Directory of the metadata.
            state: What there is.
            removed: Names of files of the base that are not published any more.
            added: Files that the base does not have.
            written: Gets the names of the files that are written.
        """
        store, schema, snapshot = self.store, state.schema, state.snapshot
        options = schema.table_options
        files = [
            iceberg_data_file(entry, paths=store.paths, schema=schema, schema_of=store.schemas.get)
            for entry in added
        ]
        plan = plan_manifests(
            state.read,
            removed=removed,
            added=files,
            snapshot_id=snapshot.id,
            limits=MergeLimits(
                target_bytes=options.manifest_target_file_size_bytes,
                files_min=options.iceberg_compaction_min_files,
                files_max=options.iceberg_compaction_max_files,
            ),
        )
        uuid = str(store.new_uuid())
        manifests = self._write_manifests(directory, plan, state, uuid, written)
        parent = _parent(state)
        name = f"snap-1-{uuid}.avro"
        data = encode_list(
            manifests,
            snapshot_id=snapshot.id,
            parent_id=None if parent is None else parent.id,
            name=name,
            codec=str(options.iceberg_manifest_compression),
            is_legacy=options.iceberg_manifest_legacy_version,
        )
        directory.write(name, data, tuple(manifests))
        written.append(name)
        live = state.live
        gone = [live[name] for name in removed]
        kept = [file for name, file in live.items() if name not in removed]
        new = new_snapshot(
            snapshot,
            parent=parent,
            manifest_list=directory.file(name),
            added=_counts(files),
            removed=_counts(gone),
            total=_counts([*kept, *files]),
            partitions=len({file.partition for file in (*files, *gone)}),
        )
        return _metadata_with(state, new, uuid)

    def _write_manifests(
        self,
        directory: MetadataDirectory,
        plan: ManifestPlan,
        state: _State,
        uuid: str,
        written: list[str],
    ) -> list[IcebergManifest]:
        manifests = list(plan.kept)
        for number, entries in enumerate(plan.written, start=1):
            name = f"{uuid}-m{number}.avro"
            codec = str(state.schema.table_options.iceberg_manifest_compression)
            data = encode_manifest(entries, state.schema, name=name, codec=codec)
            directory.write(name, data, entries)
            written.append(name)
            manifests.append(
                describe_manifest(
                    directory.file(name),
                    len(data),
                    entries,
                    snapshot_id=state.snapshot.id,
                    partition_fields=state.schema.partition_fields,
                )
            )
        return manifests

    def _with_kept(self, metadata: IcebergMetadata, state: _State) -> IcebergMetadata:
        """Return the metadata with the snapshots that have their files, the tags, and the newest schema."""
        earliest = max(self.expiring_below, self.store.snapshots.earliest_id() or 0)
        # A tag that cannot be read keeps its files until it is deleted, and has no place here meanwhile.
        files = self.store.tags.files()
        tags = [file.tag for file in files if file.tag and file.name != self.without_tag]
        *older, current = metadata.snapshots
        kept = (
            *(s for s in older if s.id >= earliest or any(s.is_of(t.snapshot) for t in tags)),
            current,
        )
        refs = {
            tag.name: tag.snapshot.id for tag in tags if any(s.is_of(tag.snapshot) for s in kept)
        }
        if (kept, refs, state.schema.id) == (
            metadata.snapshots,
            dict(metadata.refs),
            metadata.schema_id,
        ):
            return metadata
        return IcebergMetadata(
            version=state.snapshot.id,
            uuid=metadata.uuid,
            schema_id=state.schema.id,
            last_column_id=metadata.last_column_id,
            snapshots=kept,
            refs=refs,
        )

    def _create(
        self, directory: MetadataDirectory, metadata: IcebergMetadata, state: _State
    ) -> bool:
        """Write the metadata file; return False if another process has made the version meanwhile."""
        schemas = self.store.schemas
        data = serialize_metadata(
            metadata,
            location=self.store.paths.root,
            schemas=[schemas.get(number) for number in schemas.ids() if number <= state.schema.id],
            schema=state.schema,
            now_ms=self.store.clock.now_ms(),
        )
        path = directory.document(metadata.version)
        if metadata.version in state.versions:
            # It is the base, which gets other tags or loses snapshots, or of removed history.
            self.store.file_io.overwrite(path, data)
            return True
        if self.store.file_io.create_exclusive(path, data):
            return True
        # A store that repeats requests by itself may refuse the repetition of a request that succeeded.
        try:
            return self.store.file_io.read_bytes(path) == data
        except FileNotFoundError:
            return False

    def _finish(
        self, directory: MetadataDirectory, state: _State, metadata: IcebergMetadata
    ) -> None:
        """Point the hint at the metadata, and delete what they replace."""
        if self._is_overtaken(directory, state, metadata):
            return
        directory.write_hint(metadata.version)
        if self._is_overtaken(directory, state, metadata):
            return
        options = state.schema.table_options
        older = [number for number in state.versions if number < metadata.version]
        kept = older[: options.iceberg_previous_versions_max]
        if not options.iceberg_delete_after_commit:
            kept = older
        dead = [number for number in state.versions if number not in (*kept, metadata.version)]
        self._delete_unreferenced(directory, state, metadata, kept)
        directory.delete(_document_names(directory, dead))

    def _is_overtaken(
        self, directory: MetadataDirectory, state: _State, metadata: IcebergMetadata
    ) -> bool:
        """Return whether another process has published a later version, and point the hint at that."""
        removed_history = {number for number in state.versions if number > metadata.version}
        later = [
            number
            for number in directory.versions()
            if number > metadata.version and number not in removed_history
        ]
        if later and directory.read_hint() != later[0]:
            directory.write_hint(later[0])
        # The clean-up of the later one is the one that counts.
        return bool(later)

    def _delete_unreferenced(
        self,
        directory: MetadataDirectory,
        state: _State,
        metadata: IcebergMetadata,
        kept: Iterable[int],
    ) -> None:
        """Delete the manifests and lists of the base that no version needs any more."""
        if state.base is None or state.base.snapshots == metadata.snapshots:
            return
        try:
            dead = directory.referenced(state.base) - directory.referenced(metadata)
            for number in kept if dead else ():
                older = directory.read(number)
                dead -= set() if older is None else directory.referenced(older)
        except CorruptData as error:
            logger.warning("old Iceberg manifests are left to orphan cleaning: %s", error)
            return
        directory.delete(sorted(dead))


def _parent(state: _State) -> IcebergSnapshot | None:
    """Return the Iceberg snapshot before that of the newest snapshot."""
    snapshots = () if state.base is None else state.base.snapshots
    older = (snapshot for snapshot in reversed(snapshots) if snapshot.id < state.snapshot.id)
    return next(older, None)


def _metadata_with(state: _State, new: IcebergSnapshot, uuid: str) -> IcebergMetadata:
    base = state.base
    # A snapshot of the same id is replaced: it had other manifests of the same state.
    older = () if base is None else tuple(s for s in base.snapshots if s.id < new.id)
    return IcebergMetadata(
        version=state.snapshot.id,
        uuid=uuid if base is None else base.uuid,
        schema_id=state.schema.id,
        last_column_id=0 if base is None else base.last_column_id,
        snapshots=(*older, new),
        refs={} if base is None else base.refs,
    )


def _counts(files: Sequence[IcebergDataFile]) -> ChangeCounts:
    return ChangeCounts(
        files=len(files),
        records=sum(file.record_count for file in files),
        bytes=sum(file.size for file in files),
    )


def _document_names(directory: MetadataDirectory, versions: Iterable[int]) -> list[str]:
    return [directory.document(number).rpartition("/")[2] for number in versions]
