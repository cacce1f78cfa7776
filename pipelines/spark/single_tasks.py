"""Work of Braid on Spark's executors, each piece as a Spark job of one task, so that a large one does not delay the others.

Spark may run a task twice, because a machine was lost or is slow: work has to allow that.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final, Protocol, TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from braid.lake import StorageUnavailable

ResultT = TypeVar("ResultT")
MadeT_co = TypeVar("MadeT_co", covariant=True)
_CAUSE_CHARACTERS_MAX: Final = 500


class Work(Protocol[MadeT_co]):
    """What a task does; it and its result are pickled."""

    def run(self) -> MadeT_co:
        """Do it."""
        ...


class SingleTasks:
    """Runs work on Spark's executors, as much at once as there are free task slots."""

    def __init__(self, context: SparkContext, *, parallel: int, name: str) -> None:
        """Prepare to run; starts nothing yet.

        Args:
            context: Spark's context; every machine of the cluster reaches the warehouse under the same path.
            parallel: Pieces of work that are given to Spark at once, from 1.
            name: Of the kind of work: the scheduler's pool, where the scheduler has some, and the prefix of the job group.
        """
        self._context = context
        self._parallel = parallel
        self._name = name
        self._group = f"{name}-{uuid4().hex}"
        self._threads = ThreadPoolExecutor(max_workers=parallel, thread_name_prefix=name)
        self._futures: set[Future[Any]] = set()

    @property
    def parallel(self) -> int:
        """How many pieces of work are given to Spark at once."""
        return self._parallel

    def submit(
        self,
        work: Work[ResultT],
        *,
        what: str,
        lost: Callable[[StorageUnavailable], ResultT] | None = None,
    ) -> Future[ResultT]:
        """Have work done as soon as a task is free.

        Args:
            work: The work.
            what: What it is, for Spark's pages and messages.
            lost: Gives the result if machines were lost more often than Spark repeats a task, or Spark itself has ended; None:
                the future has the error then.
        """
        future = self._threads.submit(self._run, work, what, lost)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def close(self, *, grace_s: float | None = None) -> None:
        """Drop the work that waits, and let running work finish.

        Args:
            grace_s: How long running work may take, seconds; then its tasks are cancelled. None: without bound.
        """
        for future in tuple(self._futures):
            future.cancel()
        _, late = wait(tuple(self._futures), timeout=grace_s)
        if late:
            self._context.cancelJobGroup(self._group)
        self._threads.shutdown(wait=True)

    def _run(
        self,
        work: Work[ResultT],
        what: str,
        lost: Callable[[StorageUnavailable], ResultT] | None,
    ) -> ResultT:
        try:
            self._context.setJobGroup(self._group, what, interruptOnCancel=True)
            # Beside the pools of streams.
            self._context.setLocalProperty("spark.scheduler.pool", self._name)
            (result,) = self._context.parallelize([work], 1).map(_run).collect()
        except (PySparkException, Py4JError) as error:
            text = f"the task of the {what} was lost: {error}"[:_CAUSE_CHARACTERS_MAX]
            unavailable = StorageUnavailable(text)
            if lost is None:
                raise unavailable from error
            return lost(unavailable)
        return result


def _run(work: Work[ResultT]) -> ResultT:
    return work.run()
