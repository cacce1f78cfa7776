"""A bucket and the plan of its compaction."""

from dataclasses import dataclass

from braid.lake.format.manifest import FileIdentity
from braid.lake.lsm.compaction_plan import CompactionPlan
from braid.lake.lsm.levels import Levels
from braid.lake.snapshots.deletion_vectors import BucketVectors


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBucket:
    """A bucket and the plan of its compaction, as of one snapshot.

    Attributes:
        partition: Serialised partition row.
        bucket: Bucket number.
        total_buckets: Bucket count that the files were routed with.
        levels: All files of the bucket.
        plan: The plan, not empty.
        inputs: Identities of the files that are replaced.
        settled: Identities of the files on the output level.
        vectors: Deletion vectors of the bucket.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    levels: Levels
    plan: CompactionPlan
    inputs: frozenset[FileIdentity]
    settled: frozenset[FileIdentity]
    vectors: BucketVectors

    def __post_init__(self) -> None:
        assert not self.plan.is_empty, "a bucket without work is not planned"
        assert self.inputs, "a plan replaces files"
