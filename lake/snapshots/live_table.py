"""Live files of a snapshot together with the index files that have the deletion vectors of its buckets."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from braid.lake.format.bucket import BucketId
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import ManifestEntry
from braid.lake.snapshots.live_state import by_bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTable:
    """The part of a snapshot that compaction, rescale and inspection work on.

    Attributes:
        entries: ADD entries of the live files.
        vectors: Index files with deletion vectors, by partition and bucket.
    """

    entries: Sequence[ManifestEntry]
    vectors: Mapping[BucketId, IndexManifestEntry]

    def of(self, bucket_ids: Collection[BucketId]) -> "LiveTable":
        """Return the entries of some buckets, and all vectors."""
        groups = by_bucket(self.entries)
        chosen = [
            entry for bucket_id in bucket_ids if bucket_id in groups for entry in groups[bucket_id]
        ]
        return LiveTable(entries=chosen, vectors=self.vectors)
