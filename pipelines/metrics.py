"""Metrics of a runner process: stages of micro-batches, commits and lost streams; and whether the runner is ready."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter, Histogram

from braid.telemetry.metric_texts import process_registry
from braid.telemetry.tracing import span

_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_ATTEMPTS: Final = (1, 2, 3, 5, 10, 20)

STARTING: Final = "spark is starting"
UNREAD: Final = "the registry could not be read yet"
ENDING: Final = "the runner ends"


class RunnerMetrics:
    """The metrics of one process; safe between threads.

    Attributes:
        registry: All of them.
        commit_attempts: Attempts of the commits of micro-batches.
        commit_waits: Waits of these commits before their attempts, seconds.
        lost_streams: Streams that others have got although this runner had not let them go.
        not_ready: Why the runner is not ready; None: it is.
    """

    def __init__(self) -> None:
        """Make the metrics; the runner is starting."""
        self.registry = process_registry()
        self._stages = Histogram(
            "braid_batch_stage_duration_seconds",
            "Duration of the stages of micro-batches, of all streams of the runner: read the offsets, write the files, commit, hold "
            "the next one back, and total.",
            ("stage",),
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.commit_attempts = Histogram(
            "braid_commit_attempts",
            "Attempts of the commits of micro-batches; more than one where another commit was faster.",
            registry=self.registry,
            buckets=_ATTEMPTS,
        )
        self.commit_waits = Histogram(
            "braid_commit_wait_seconds",
            "Waits of the commits of micro-batches for commits of others; where they are long, too many writers have one table.",
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.lost_streams = Counter(
            "braid_streams_lost_total",
            "Streams that the runner had and that were given to others, because its heartbeats came too late.",
            registry=self.registry,
        )
        self.not_ready: str | None = STARTING

    @contextmanager
    def stage(self, name: str, stream: str) -> Iterator[None]:
        """Measure and trace a stage of a micro-batch, also one that fails.

        Args:
            name: The stage.
            stream: `<database>.<table>/<stream>`.
        """
        begun_s = time.perf_counter()
        try:
            with span(f"micro-batch {name}", stream=stream):
                yield
        finally:
            self._stages.labels(name).observe(time.perf_counter() - begun_s)
