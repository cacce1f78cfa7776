"""The live data files of snapshots.

A file is live if the manifests of the base list and the delta list add it and do not delete it. The live files depend
only on the set of manifest names, so they are cached by that set. The base list of a snapshot usually has the
manifests of the base and delta lists of the snapshot before. Then the live files of the base are in the cache, and
only the new delta is applied to them. Names are random and files immutable, so cached live files stay valid across
rollbacks and overwritten snapshots.

The files of a few buckets are found without the rest: manifests whose bounds exclude these buckets are not read.

In large tables the value statistics of wide files would take far more memory than all else. Entries have reduced
statistics there (`ReducedStats`), and `whole` reads the statistics of those files for which they are needed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.binary_row import decode_row
from braid.lake.format.bucket import BucketId
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.snapshot import Snapshot
from braid.lake.format.statistics import ReducedStats
from braid.lake.snapshots.live_state import EMPTY_STATE, LiveState
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.metadata_cache import entries_bytes

# Number of cached states of one table. Successive states share their entries; each state costs one further
# dictionary of buckets.
STATES_MAX: Final = 4
_DICTIONARY_ENTRY_BYTES: Final = 100

LARGE_ENTRIES: Final = 4_096
"""Entries of manifests from which on a table is large: its statistics are reduced, and a few buckets are read alone."""


@dataclass(frozen=True, slots=True)
class _Known:
    manifests: frozenset[str]
    state: LiveState
    bytes: int


class LiveFiles:
    """Finds the live files of snapshots and caches recent states; safe between threads.

    States are in the cache of the manifests, shared by all readers of the table.
    """

    def __init__(
        self,
        store: ManifestStore,
        *,
        partition_fields: Sequence[DataField] = (),
        keeps_statistics: bool = False,
        states_max: int = STATES_MAX,
    ) -> None:
        """Create a finder.

        Args:
            store: Reads manifests.
            partition_fields: The table's partition columns; without them partitions exclude no manifest.
            keeps_statistics: Statistics are not reduced, because they are needed all the time.
            states_max: Number of cached states.
        """
        self._store = store
        self._partition_fields = tuple(partition_fields)
        self._keeps_statistics = keeps_statistics
        self._states_max = states_max
        # In the same cache as the manifests, whose keys are their paths.
        self._key = f"{store.root}#live"

    def entries(
        self,
        snapshot: Snapshot,
        *,
        partitions: Collection[bytes] | None = None,
        buckets: Collection[int] | None = None,
    ) -> list[ManifestEntry]:
        """Return the ADD entries of the live files, in no particular order.

        Args:
            snapshot: Any snapshot whose manifests still exist.
            partitions: Serialised partition rows to keep; None keeps all.
            buckets: Buckets to keep; None keeps all. If the state is not cached, manifests
                without any of these buckets are not read.

        Raises:
            ManifestGone: The snapshot expired while it was read.
            CorruptData: A manifest cannot be read.
        """
        if partitions is None and buckets is None:
            return list(self.state(snapshot).entries())
        known = self.cached_state(snapshot)
        if known is None and buckets is not None:
            wanted = [m for m in self._manifests_of(snapshot) if _may_hold(m, buckets)]
            known = self._apply(EMPTY_STATE, wanted, is_reduced=False)
        found = self.state(snapshot) if known is None else known
        return [
            entry
            for bucket_id, entries in found.buckets.items()
            if (partitions is None or bucket_id[0] in partitions)
            and (buckets is None or bucket_id[1] in buckets)
            for entry in entries.values()
        ]

    def of_buckets(
        self, snapshot: Snapshot, bucket_ids: Collection[BucketId]
    ) -> list[ManifestEntry]:
        """Return the ADD entries of some buckets; of a large table only manifests that may have them are read.

        Args:
            snapshot: Any snapshot whose manifests still exist.
            bucket_ids: Serialised partition row and bucket number of each.

        Raises:
            ManifestGone: The snapshot expired while it was read.
            CorruptData: A manifest cannot be read.
        """
        known = self.cached_state(snapshot)
        if known is None and not self.is_large(snapshot):
            known = self.state(snapshot)
        if known is None:
            wanted = self._holding(self._manifests_of(snapshot), bucket_ids)
            names = [manifest.file_name for manifest in wanted]
            is_reduced = not self._keeps_statistics
            found = self._store.read_some(names, bucket_ids, is_reduced=is_reduced)
            known = EMPTY_STATE.after(found)
        return [
            entry for bucket_id in bucket_ids for entry in known.buckets.get(bucket_id, {}).values()
        ]

    def is_large(self, snapshot: Snapshot) -> bool:
        """Return whether a table is large by the number of entries in its manifests.

        Raises:
            ManifestGone: The snapshot expired while it was read.
            CorruptData: A manifest list cannot be read.
        """
        return _is_large(self._manifests_of(snapshot))

    def cached_state(self, snapshot: Snapshot) -> LiveState | None:
        """Return the state of a snapshot if it can be had from the cache with the snapshot's own changes."""
        base = self._store.read_list(snapshot.base_manifest_list)
        delta = self._store.read_list(snapshot.delta_manifest_list)
        if self._known(_names((*base, *delta))) or self._known(_names(base)):
            return self.state(snapshot)
        return None

    def by_identity(self, snapshot: Snapshot) -> Mapping[FileIdentity, ManifestEntry]:
        """Return the ADD entries of the live files by identity; the caller must not change the mapping.

        Raises:
            ManifestGone: The snapshot expired while it was read.
            CorruptData: A manifest cannot be read.
        """
        return self.state(snapshot)

    def state(self, snapshot: Snapshot) -> LiveState:
        """Return the live files of a snapshot.

        Raises:
            ManifestGone: The snapshot expired while it was read.
            CorruptData: A manifest cannot be read.
        """
        base = self._store.read_list(snapshot.base_manifest_list)
        delta = self._store.read_list(snapshot.delta_manifest_list)
        names = _names((*base, *delta))
        known = self._known(names)
        if known is not None:
            return known.state
        before = self._known(_names(base))
        start = EMPTY_STATE if before is None else before.state
        manifests = (*base, *delta) if before is None else delta
        state = self._apply(start, manifests, is_reduced=_is_large((*base, *delta)))
        # Estimated from all entries where the state is new, else from the files that have changed.
        size = entries_bytes(list(state.entries())) if before is None else before.bytes
        if before is not None:
            size = size * len(state) // max(1, len(start))
        self._remember(_Known(names, state, size))
        return state

    def whole(
        self, snapshot: Snapshot, entries: Sequence[ManifestEntry]
    ) -> Iterator[list[ManifestEntry]]:
        """Yield entries with whole statistics, those of one manifest together, in any order.

        Args:
            snapshot: The snapshot that the entries are live in; others are left out.
            entries: Entries with or without reduced statistics.

        Raises:
            ManifestGone: The snapshot has expired.
            CorruptData: A manifest cannot be read.
        """
        reduced = {
            entry.identity for entry in entries if isinstance(entry.file.value_stats, ReducedStats)
        }
        whole = [entry for entry in entries if not isinstance(entry.file.value_stats, ReducedStats)]
        if whole:
            yield whole
        if not reduced:
            return
        buckets = {identity[:2] for identity in reduced}
        for manifest in self._holding(self._manifests_of(snapshot), buckets):
            found = [
                entry
                for entry in self._store.read_uncached(manifest.file_name, buckets)
                if entry.kind is FileKind.ADD and entry.identity in reduced
            ]
            # Several manifests may have the same ADD.
            reduced.difference_update(entry.identity for entry in found)
            if found:
                yield found
            if not reduced:
                return

    def register_equivalent(
        self, manifests: Sequence[ManifestFileMeta], *, same_as: Sequence[ManifestFileMeta]
    ) -> None:
        """Register that two lists of manifests have the same live files.

        Called after a merge of manifests, so that the new manifests need not be read back.
        """
        known = self._known(_names(same_as))
        if known is not None:
            self._remember(_Known(_names(manifests), known.state, known.bytes))

    def _manifests_of(self, snapshot: Snapshot) -> tuple[ManifestFileMeta, ...]:
        base = self._store.read_list(snapshot.base_manifest_list)
        return (*base, *self._store.read_list(snapshot.delta_manifest_list))

    def _apply(
        self, start: LiveState, manifests: Sequence[ManifestFileMeta], *, is_reduced: bool
    ) -> LiveState:
        return start.after(self._read(manifests, is_reduced=is_reduced))

    def _read(
        self, manifests: Sequence[ManifestFileMeta], *, is_reduced: bool
    ) -> Iterator[tuple[ManifestEntry, ...]]:
        names = [manifest.file_name for manifest in manifests]
        is_reduced = is_reduced and not self._keeps_statistics
        return self._store.read_manifests(names, is_reduced=is_reduced)

    def _holding(
        self, manifests: Sequence[ManifestFileMeta], bucket_ids: Collection[BucketId]
    ) -> list[ManifestFileMeta]:
        """Return the manifests whose bounds admit one of the buckets."""
        fields = self._partition_fields
        buckets = {bucket for _, bucket in bucket_ids}
        found = [manifest for manifest in manifests if _may_hold(manifest, buckets)]
        try:
            rows = [decode_row(partition, fields) for partition, _ in bucket_ids] if fields else []
        except UnsupportedFeature:
            # A date that Python does not have.
            return found
        return [manifest for manifest in found if self._may_hold_partition(manifest, rows)]

    def _may_hold_partition(
        self, manifest: ManifestFileMeta, rows: Sequence[Sequence[Any]]
    ) -> bool:
        fields = self._partition_fields
        if not fields or not manifest.partition_stats.null_counts:
            return True
        try:
            low = decode_row(manifest.partition_stats.min_values, fields)
            high = decode_row(manifest.partition_stats.max_values, fields)
        except (CorruptData, UnsupportedFeature):
            return True
        return any(all(map(_is_between, row, low, high)) for row in rows)

    def _known(self, names: frozenset[str]) -> _Known | None:
        return next((known for known in self._states() if known.manifests == names), None)

    def _remember(self, state: _Known) -> None:
        # Not atomic: of two threads at once one may drop the other's state, which is then read again.
        others = [known for known in self._states() if known.manifests != state.manifests]
        states = (state, *others)[: self._states_max]
        assert states, "at least the newest state is kept"
        # Entries are shared between the states, so they count once, as in the largest state.
        size = max(known.bytes for known in states)
        size += sum(_DICTIONARY_ENTRY_BYTES * len(known.state.buckets) for known in states)
        self._store.cache.put(self._key, states, size)

    def _states(self) -> tuple[_Known, ...]:
        """Return the cached states, newest first."""
        return cast("tuple[_Known, ...]", self._store.cache.get(self._key) or ())


def _names(manifests: Sequence[ManifestFileMeta]) -> frozenset[str]:
    return frozenset(manifest.file_name for manifest in manifests)


def _is_large(manifests: Sequence[ManifestFileMeta]) -> bool:
    return sum(m.num_added_files + m.num_deleted_files for m in manifests) > LARGE_ENTRIES


def _may_hold(manifest: ManifestFileMeta, buckets: Collection[int]) -> bool:
    """Return whether the bucket bounds of a manifest admit one of the buckets."""
    low, high = manifest.min_bucket, manifest.max_bucket
    if low is None or high is None:
        return True
    return any(low <= bucket <= high for bucket in buckets)


def _is_between(value: Any, low: Any, high: Any) -> bool:
    """Return whether bounds admit a value; unknown bounds, nulls and NaN are admitted."""
    if value is None or low is None or high is None:
        return True
    return not (value < low or value > high)
