"""Driver of a test on a cluster whose master is lost, as a program: has work that runs for long, and prints what it comes to.

    python -m tests.support.orphaned_driver MASTER ARCHIVE WAREHOUSE

It prints `ready` when it has an executor. Of that one it expects to be lost; then it prints `replaced`, or `starved` and
the error of the work.
"""

import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from braid.lake import SystemClock
from braid.pipelines.spark.cluster_session import cluster_session
from braid.pipelines.spark.executor_watch import ExecutorWatch
from braid.pipelines.spark.single_tasks import SingleTasks
from braid.pipelines.spark.target import SparkTarget
from tests.support.waiting import wait_until

_CONF = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m"}


@dataclass(frozen=True)
class Sleep:
    """Work that takes longer than the test."""

    def run(self) -> None:
        """Do it."""
        time.sleep(3_600)


def main() -> None:
    """Do it."""
    master, archive, warehouse = sys.argv[1:]
    target = SparkTarget(
        master=master,
        archive=Path(archive),
        python=sys.executable,
        conf=_CONF,
        is_warehouse_shared=True,
    )
    with cluster_session(
        target, app_name="orphan", warehouse=warehouse, cores=1, starved_s=10.0
    ) as session:
        watch = ExecutorWatch(session, clock=SystemClock(), stop=threading.Event())
        watch.start()
        tasks = SingleTasks(session.sparkContext, parallel=1, name="sleep")
        slept = tasks.submit(Sleep(), what="sleep")

        def is_replaced() -> bool:
            seen = watch.progress
            return seen is not None and seen.lost > 0 and seen.running > 0

        wait_until(lambda: watch.progress is not None and watch.progress.running > 0)
        print("ready", flush=True)
        wait_until(lambda: slept.done() or is_replaced())
        if not slept.done():
            print("replaced", flush=True)
            os._exit(0)  # not after the work
        print("starved", slept.exception(), flush=True)
        tasks.close()


if __name__ == "__main__":
    main()
