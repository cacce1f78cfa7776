"""Pool of Spark executors that compact buckets.

Each bucket is a separate Spark job of one task, so a large bucket does not delay the others. Spark may run a task twice,
because a machine was lost or is slow. This does no harm: of two compactions that replace the same file only one commits.
"""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from braid.lake import BucketOutcome, BucketWork, StorageUnavailable

_CAUSE_CHARACTERS_MAX = 500


class SparkPool:
    """Compacts buckets on Spark's executors, as many at once as there are free task slots."""

    def __init__(self, context: SparkContext, *, parallel: int) -> None:
        """Create the pool; starts nothing yet.

        Args:
            context: Spark's context; every machine of the cluster reaches the warehouse under the same path.
            parallel: Buckets that are given to Spark at once, from 1.
        """
        self._context = context
        self._group = f"compaction-{uuid4().hex}"
        self._threads = ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="compaction")
        self._futures: set[Future[BucketOutcome]] = set()

    def submit(self, work: BucketWork) -> Future[BucketOutcome]:
        """Have a bucket compacted as soon as a task is free."""
        future = self._threads.submit(self._run, work)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def close(self, *, grace_s: float | None = None) -> None:
        """Drop the buckets that wait, and let running compactions finish.

        Args:
            grace_s: How long running compactions may take, seconds; then their tasks are cancelled, and
                each has committed its bucket as a whole or not at all. None: without bound.
        """
        for future in tuple(self._futures):
            future.cancel()
        _, late = wait(tuple(self._futures), timeout=grace_s)
        if late:
            self._context.cancelJobGroup(self._group)
        self._threads.shutdown(wait=True)

    def _run(self, work: BucketWork) -> BucketOutcome:
        what = f"{work.identifier} bucket {work.bucket_id[1]}"
        self._context.setJobGroup(self._group, what, interruptOnCancel=True)
        # Beside the pools of streams, where the scheduler has some.
        self._context.setLocalProperty("spark.scheduler.pool", "compaction")
        try:
            (outcome,) = self._context.parallelize([work], 1).map(BucketWork.run).collect()
        except (PySparkException, Py4JError) as error:
            # Machines were lost more often than Spark repeats a task, or Spark itself has ended.
            text = f"the task that compacts {what} was lost: {error}"[:_CAUSE_CHARACTERS_MAX]
            return BucketOutcome(bucket_id=work.bucket_id, error=StorageUnavailable(text))
        return outcome
