"""What is seen of Spark's executors, on a stand-in for Spark's status: a starved application is noticed once."""

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from pyspark.sql import SparkSession

from braid.lake import SystemClock
from braid.pipelines.spark.executor_watch import ExecutorWatch


@dataclass
class SparkStatus:
    """What Spark's JVM says of an application.

    Attributes:
        active: Whether the only executor runs.
        jobs: Jobs that have not ended.
    """

    active: bool = True
    jobs: list[int] = field(default_factory=list)

    def session(self) -> SparkSession:
        """Return a session as the watch uses it."""
        reason = SimpleNamespace(isDefined=lambda: True, get=lambda: "worker lost")
        executor = SimpleNamespace(
            id=lambda: "0",
            isActive=lambda: self.active,
            hostPort=lambda: "h:1",
            removeReason=lambda: reason,
        )
        listed = SimpleNamespace(length=lambda: 1, apply=lambda _: executor)
        store = SimpleNamespace(executorList=lambda _: listed)
        tracker = SimpleNamespace(getActiveJobIds=lambda: self.jobs)
        scala: Any = SimpleNamespace(statusStore=lambda: store, statusTracker=lambda: tracker)
        java = SimpleNamespace(sc=lambda: scala)
        return cast("SparkSession", SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java)))


def test_jobs_that_wait_without_an_executor_are_noticed_once() -> None:
    status, starved = SparkStatus(jobs=[1]), list[str]()
    watch = ExecutorWatch(
        status.session(),
        clock=SystemClock(),
        stop=threading.Event(),
        on_starved=lambda: starved.append("starved"),
        starved_s=0.0,
    )

    watch.look()
    watch.look()
    assert starved == []
    status.active, status.jobs = False, []
    watch.look()
    watch.look()
    assert starved == [], "without a job nothing waits for an executor"
    status.jobs = [2]
    for _ in range(4):
        watch.look()

    assert starved == ["starved"]
    assert watch.progress is not None
    assert (watch.progress.running, watch.progress.lost) == (0, 1)


def test_a_wait_that_ends_in_time_is_no_starvation() -> None:
    status, starved = SparkStatus(active=False, jobs=[1]), list[str]()
    watch = ExecutorWatch(
        status.session(),
        clock=SystemClock(),
        stop=threading.Event(),
        on_starved=lambda: starved.append("starved"),
        starved_s=3_600.0,
    )

    for _ in range(3):
        watch.look()

    assert starved == []
