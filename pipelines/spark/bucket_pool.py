"""Pool of Spark executors that compact buckets.

Spark may run a task twice. This does no harm: of two compactions that replace the same file only one commits.
"""

from concurrent.futures import Future

from pyspark import SparkContext

from braid.lake import BucketOutcome, BucketWork
from braid.pipelines.spark.single_tasks import SingleTasks


class SparkPool:
    """Compacts buckets on Spark's executors, as many at once as there are free task slots."""

    def __init__(self, context: SparkContext, *, parallel: int) -> None:
        """Create the pool; starts nothing yet.

        Args:
            context: Spark's context; every machine of the cluster reaches the warehouse under the same path.
            parallel: Buckets that are given to Spark at once, from 1.
        """
        self._tasks = SingleTasks(context, parallel=parallel, name="compaction")

    def submit(self, work: BucketWork) -> Future[BucketOutcome]:
        """Have a bucket compacted as soon as a task is free."""
        return self._tasks.submit(
            work,
            what=f"compaction of {work.identifier} bucket {work.bucket_id[1]}",
            lost=lambda error: BucketOutcome(bucket_id=work.bucket_id, error=error),
        )

    def close(self, *, grace_s: float | None = None) -> None:
        """Drop the buckets that wait, and let running compactions finish.

        Args:
            grace_s: How long running compactions may take, seconds; then their tasks are cancelled, and
                each has committed its bucket as a whole or not at all. None: without bound.
        """
        self._tasks.close(grace_s=grace_s)
