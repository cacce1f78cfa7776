"""Driver of a test on a cluster whose master is lost, as a program: has a job that runs for long, and prints what its executors come to.

    python -m tests.support.orphaned_driver MASTER

It prints `ready` when it has an executor. Of that one it expects to be lost; then it prints `replaced`, or `starved`.
"""

import os
import sys
import threading
import time

from pyspark.sql import SparkSession

from braid.lake import SystemClock
from braid.pipelines.spark.executor_watch import ExecutorWatch
from tests.support.waiting import wait_until


def main() -> None:
    """Do it."""
    builder = SparkSession.builder.master(sys.argv[1]).config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.ui.enabled", "false").config("spark.executor.memory", "512m")
    session = builder.config("spark.pyspark.python", sys.executable).getOrCreate()
    starved = threading.Event()
    watch = ExecutorWatch(
        session,
        clock=SystemClock(),
        stop=threading.Event(),
        on_starved=starved.set,
        starved_s=10.0,
    )
    watch.start()
    numbers = session.sparkContext.parallelize(range(10_000), 10_000)
    job = numbers.map(_slowly)
    threading.Thread(target=job.count, daemon=True).start()

    def running() -> int:
        return 0 if watch.progress is None else watch.progress.running

    def is_replaced() -> bool:
        return watch.progress is not None and watch.progress.lost > 0 and running() > 0

    wait_until(lambda: running() > 0)
    print("ready", flush=True)
    wait_until(lambda: starved.is_set() or is_replaced())
    print("starved" if starved.is_set() else "replaced", flush=True)
    os._exit(0)  # not after the job


def _slowly(number: int) -> int:
    time.sleep(0.5)
    return number


if __name__ == "__main__":
    main()
