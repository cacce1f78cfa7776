"""The live data files of snapshots.

A file is live if the manifests of the base list and the delta list add it and do not delete it. The live files depend
only on the set of manifest names, so they are cached by that set. The base list of a snapshot usually has the
manifests of the base and delta lists of the snapshot before. Then the live files of the base are in the cache, and
only the new delta is applied to them. Names are random and files immutable, so cached live files stay valid across
rollbacks and overwritten snapshots.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.metadata_cache import entries_bytes

# Number of cached states of one table. Successive states share their entries; each state costs one further
# dictionary.
STATES_MAX = 4
_DICTIONARY_ENTRY_BYTES = 100


@dataclass(frozen=True, slots=True)
class _State:
    manifests: frozenset[str]
    entries: Mapping[FileIdentity, ManifestEntry]
    bytes: int


class LiveFiles:
    """Finds the live files of snapshots and caches recent states; safe between threads.

    States are in the cache of the manifests, shared by all readers of the table.
    """

    def __init__(self, store: ManifestStore, *, states_max: int = STATES_MAX) -> None:
        self._store = store
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
            return list(self.by_identity(snapshot).values())
        base = self._store.read_list(snapshot.base_manifest_list)
        delta = self._store.read_list(snapshot.delta_manifest_list)
        known = self._known(_names(base)) or self._known(_names((*base, *delta)))
        if known is not None or buckets is None:
            found: Iterable[ManifestEntry] = self.by_identity(snapshot).values()
        else:
            wanted = [manifest for manifest in (*base, *delta) if _may_hold(manifest, buckets)]
            found = self._combine(None, wanted)[0].values()
        return [
            entry
            for entry in found
            if (partitions is None or entry.partition in partitions)
            and (buckets is None or entry.bucket in buckets)
        ]

    def by_identity(self, snapshot: Snapshot) -> Mapping[FileIdentity, ManifestEntry]:
        """Return the ADD entries of the live files by identity; the caller must not change the mapping.

        Raises:
            ManifestGone: The snapshot expired while it was read.
            CorruptData: A manifest cannot be read.
        """
        base = self._store.read_list(snapshot.base_manifest_list)
        delta = self._store.read_list(snapshot.delta_manifest_list)
        names = _names((*base, *delta))
        known = self._known(names)
        if known is not None:
            return known.entries
        before = self._known(_names(base))
        entries, size = self._combine(before, delta if before is not None else (*base, *delta))
        self._remember(_State(names, entries, size))
        return entries

    def register_equivalent(
        self, manifests: Sequence[ManifestFileMeta], *, same_as: Sequence[ManifestFileMeta]
    ) -> None:
        """Register that two lists of manifests have the same live files.

        Called after a merge of manifests, so that the new manifests need not be read back.
        """
        known = self._known(_names(same_as))
        if known is not None:
            self._remember(_State(_names(manifests), known.entries, known.bytes))

    def _combine(
        self,
        before: _State | None,
        manifests: Sequence[ManifestFileMeta],
    ) -> tuple[dict[FileIdentity, ManifestEntry], int]:
        """Return the live files after some manifests, and their approximate bytes in memory."""
        # Deletes are applied last: a list may name a DELETE before the ADD of its file.
        entries = {} if before is None else dict(before.entries)
        size = 0 if before is None else before.bytes
        added: list[ManifestEntry] = []
        deleted: list[FileIdentity] = []
        for found in self._store.read_manifests([manifest.file_name for manifest in manifests]):
            for entry in found:
                if entry.kind is FileKind.ADD:
                    entries[entry.identity] = entry
                    added.append(entry)
                else:
                    deleted.append(entry.identity)
        # A DELETE may be without its ADD: if only some buckets are wanted, not every manifest is read.
        removed = [entries.pop(identity) for identity in deleted if identity in entries]
        # Not below 0: sizes are extrapolated, so the removed entries can seem larger than all entries were.
        return entries, max(0, size + entries_bytes(added) - entries_bytes(removed))

    def _known(self, names: frozenset[str]) -> _State | None:
        return next((state for state in self._states() if state.manifests == names), None)

    def _remember(self, state: _State) -> None:
        # Not atomic: of two threads at once one may drop the other's state, which is then read again.
        others = [known for known in self._states() if known.manifests != state.manifests]
        states = (state, *others)[: self._states_max]
        assert states, "at least the newest state is kept"
        # Entries are shared between the states, so they count once, as in the largest state.
        size = max(known.bytes for known in states)
        size += sum(_DICTIONARY_ENTRY_BYTES * len(known.entries) for known in states)
        self._store.cache.put(self._key, states, size)

    def _states(self) -> tuple[_State, ...]:
        """Return the cached states, newest first."""
        return cast("tuple[_State, ...]", self._store.cache.get(self._key) or ())


def _names(manifests: Sequence[ManifestFileMeta]) -> frozenset[str]:
    return frozenset(manifest.file_name for manifest in manifests)


def _may_hold(manifest: ManifestFileMeta, buckets: Collection[int]) -> bool:
    """Return whether the bucket bounds of a manifest admit one of the buckets."""
    low, high = manifest.min_bucket, manifest.max_bucket
    if low is None or high is None:
        return True
    return any(low <= bucket <= high for bucket in buckets)
