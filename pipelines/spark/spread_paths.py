"""Work on many paths of storage, spread over Spark's executors: directories are listed, and files deleted, by tasks."""

from collections.abc import Sequence

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from braid.lake import FileStatus, PathWork, StorageUnavailable

_PARTS_PER_SLOT = 4
"""Small enough that no task is waited for long, and large enough that tasks are worth their start."""
_CAUSE_CHARACTERS_MAX = 500


class SparkSpread:
    """A `Spread` whose work is done by executors."""

    def __init__(self, context: SparkContext, *, parallel: int) -> None:
        """Prepare the work.

        Args:
            context: Spark's context; every machine of the cluster reaches the warehouse under the same path.
            parallel: Tasks that run at once, from 1.
        """
        self._context = context
        self._parallel = parallel

    def __call__(self, work: PathWork, paths: Sequence[str]) -> list[FileStatus]:
        """Do the work on all paths.

        Raises:
            StorageUnavailable: A task has failed; some of the work may be done.
        """
        if not paths:
            return []
        parts = min(len(paths), self._parallel * _PARTS_PER_SLOT)
        spread = self._context.parallelize(paths, parts)
        try:
            return spread.mapPartitions(lambda part: work(list(part))).collect()
        except (PySparkException, Py4JError) as error:
            text = f"executors could not work on {len(paths)} paths: {error}"[
                :_CAUSE_CHARACTERS_MAX
            ]
            raise StorageUnavailable(text) from error
