"""The live files of one snapshot, by bucket; a state is derived from an earlier one at the cost of what has changed."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, overload

from braid.lake.format.bucket import BucketId
from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry

BucketEntries = dict[FileIdentity, ManifestEntry]

_NONE: Final[BucketEntries] = {}


class LiveState(Mapping[FileIdentity, ManifestEntry]):
    """The ADD entries of live files by identity; immutable.

    States share the entries of buckets that are the same in both.

    Attributes:
        schema_ids: Ids of the schemas of the files, and perhaps of files that were live before.
    """

    __slots__ = ("_buckets", "_count", "schema_ids")

    def __init__(self, buckets: dict[BucketId, BucketEntries], schema_ids: frozenset[int]) -> None:
        """Wrap entries by bucket, none of them empty; the caller does not change them any more."""
        self._buckets = buckets
        self._count = sum(map(len, buckets.values()))
        self.schema_ids = schema_ids

    @property
    def buckets(self) -> Mapping[BucketId, Mapping[FileIdentity, ManifestEntry]]:
        """The entries of each bucket with files."""
        return self._buckets

    def entries(self) -> Iterator[ManifestEntry]:
        """Yield all entries."""
        for found in self._buckets.values():
            yield from found.values()

    def __getitem__(self, identity: FileIdentity) -> ManifestEntry:
        return self._buckets.get(identity[:2], _NONE)[identity]

    def __contains__(self, identity: object) -> bool:
        return isinstance(identity, tuple) and identity in self._buckets.get(identity[:2], _NONE)

    def __iter__(self) -> Iterator[FileIdentity]:
        for found in self._buckets.values():
            yield from found

    def __len__(self) -> int:
        return self._count

    def after(self, manifests: Iterable[Iterable[ManifestEntry]]) -> "LiveState":
        """Return the state after the entries of some manifests, in any order.

        A DELETE may come before the ADD of its file, or without it.
        """
        # All buckets at first, then copies of those that change.
        buckets = dict(self._buckets)
        fresh: set[BucketId] = set()
        schema_ids = set(self.schema_ids)
        deleted: list[FileIdentity] = []
        for entries in manifests:
            for entry in entries:
                if entry.kind is not FileKind.ADD:
                    deleted.append(entry.identity)
                    continue
                identity = entry.identity
                bucket_id = identity[:2]
                if bucket_id not in fresh:
                    fresh.add(bucket_id)
                    buckets[bucket_id] = dict(buckets.get(bucket_id, _NONE))
                buckets[bucket_id][identity] = entry
                schema_ids.add(entry.file.schema_id)
        for identity in deleted:
            bucket_id = identity[:2]
            found = buckets.get(bucket_id)
            if found is None or identity not in found:
                continue
            if bucket_id not in fresh:
                fresh.add(bucket_id)
                buckets[bucket_id] = found = dict(found)
            del found[identity]
            if not found:
                del buckets[bucket_id]
                fresh.discard(bucket_id)
        return LiveState(buckets, frozenset(schema_ids))


EMPTY_STATE: Final = LiveState({}, frozenset())


class LiveEntries(Sequence[ManifestEntry]):
    """The entries of a state as a sequence; meant to be iterated, access by index is slow.

    Attributes:
        state: The state.
    """

    __slots__ = ("state",)

    def __init__(self, state: LiveState) -> None:
        self.state = state

    def __len__(self) -> int:
        return len(self.state)

    def __iter__(self) -> Iterator[ManifestEntry]:
        return self.state.entries()

    @overload
    def __getitem__(self, index: int) -> ManifestEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[ManifestEntry]: ...
    def __getitem__(self, index: int | slice) -> ManifestEntry | list[ManifestEntry]:
        if isinstance(index, slice):
            return list(self)[index]
        position = index + len(self) if index < 0 else index
        found = next(islice(self, position, None), None) if position >= 0 else None
        if found is None:
            raise IndexError(index)
        return found


def by_bucket(
    entries: Iterable[ManifestEntry],
) -> Mapping[BucketId, Collection[ManifestEntry]]:
    """Return entries by bucket, only buckets with entries; those of a state are grouped already."""
    if isinstance(entries, LiveEntries):
        return _BucketValues(entries.state.buckets)
    groups: dict[BucketId, list[ManifestEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.partition, entry.bucket), []).append(entry)
    return groups


class _BucketValues(Mapping[BucketId, Collection[ManifestEntry]]):
    """The entries of each bucket, without their identities."""

    __slots__ = ("_buckets",)

    def __init__(self, buckets: Mapping[BucketId, Mapping[FileIdentity, ManifestEntry]]) -> None:
        self._buckets = buckets

    def __getitem__(self, bucket_id: BucketId) -> Collection[ManifestEntry]:
        return self._buckets[bucket_id].values()

    def __contains__(self, bucket_id: object) -> bool:
        return bucket_id in self._buckets

    def __iter__(self) -> Iterator[BucketId]:
        return iter(self._buckets)

    def __len__(self) -> int:
        return len(self._buckets)
