"""The process that Spark's Python workers are forked from, which has loaded what tasks need.

Spark starts `pyspark.daemon`, forks a worker from it for each task slot, and ends workers that had no task for a
minute. Each of them would load the packages of a task itself: a second and a half of the processor, and some hundred
megabytes. Forked from this process they have both already, and share the memory.

Spark starts the module that `spark.python.daemon.module` names with `-m`, as it starts `pyspark.daemon`.
"""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final

from pyspark import daemon

_WORKER: Final = "pyspark.worker"
_LOADED: Final = (_WORKER, "pyspark.sql.pandas.serializers", "braid.pipelines.sink.write_task")


def main(arguments: Sequence[str]) -> None:
    """Load what tasks need, and fork workers until Spark closes standard input.

    Args:
        arguments: The module that workers run, and Spark's others. Data sources have modules of their own, whose few
            workers load what they need.
    """
    if arguments[:1] == [_WORKER]:
        load()
    daemon.manager()


def load() -> None:
    """Import the modules of a task; no thread of theirs is lost when the process is forked.

    Arrow's allocator starts its thread anew in a forked process; numpy's library is to have none: a task has one core.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in _LOADED:
        # Whoever needs what is absent says so: a task's error has a place in the stream's status.
        with suppress(ImportError):
            import_module(name)
    # A worker collects garbage after each task: what is loaded stays, and is not to be copied by being looked at.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main(sys.argv[1:])
