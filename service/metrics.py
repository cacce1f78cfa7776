"""Metrics of a service process: requests by route, waits, refusals, and the state of the process.

Requests are counted in the outermost layer (`http/access_log`). What has a size at any moment is set once a second
(`process_sampler`), so that no request pays for it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.registry import Collector

from braid.lake import CopyUsage
from braid.telemetry.metric_texts import build_metrics, process_registry
from braid.telemetry.worker_values import joined, values_of_all

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})

NO_ROUTE: Final = "none"
"""The route of a request that was refused before it was known, or has none."""

NO_ROW: Final = ""
"""The state of the row in the answer to a request that is not about one row."""


class ServiceMetrics:
    """The metrics of one process; safe between threads.

    Attributes:
        registry: All of them, of this process.
        refused: Requests that were refused because their class was full, by class and code.
        running: Requests that run, by class.
        waiting: Requests that wait for a slot of their class, by class.
        not_copied: Requests for one row whose data files had no copies, so that it was read in a thread.
        snapshot_waits: Durations of waits for a snapshot, by whether it came.
        subscriptions: Open subscriptions to rows.
        followed_tables: Tables that are followed.
        staleness: Time since the state of a followed table was verified, of the table with the longest.
        memory: Resident memory of the process.
        issuer_keys_age: Time since the keys of an issuer were loaded, by issuer.
        loop_delay: How late the event loop was, once a second.
    """

    def __init__(self, *, workers_directory: str | None = None) -> None:
        """Make the metrics.

        Args:
            workers_directory: Where the workers of a server share their values (`telemetry.worker_values`); None: this process is
                the only one.
        """
        self._directory = workers_directory
        self.registry = CollectorRegistry()
        self._requests = self._histogram(
            "braid_http_request_duration_seconds",
            "Duration of requests, by method, route, class of status (2xx, …) and state of the row: found or absent; of requests for "
            "its status, or for a row of a feature view, complete or incomplete; empty for other requests.",
            ("method", "route", "status", "row"),
        )
        self.refused = self._counter(
            "braid_http_requests_refused_total",
            "Requests that were refused because too many of their class were running and waiting, or no slot was free in time.",
            ("class", "code"),
        )
        self.running = self._gauge(
            "braid_http_requests_running", "Requests that hold a slot of their class.", ("class",)
        )
        self.waiting = self._gauge(
            "braid_http_requests_waiting", "Requests that wait for a slot of their class.", ("class",)
        )  # fmt: skip
        self.not_copied = self._counter(
            "braid_row_reads_without_copies_total",
            "Requests for one row whose data files had no copies of the columns, so that the row was read in a thread.",
        )
        self.snapshot_waits = self._histogram(
            "braid_snapshot_wait_seconds",
            "Duration of the waits of requests for a snapshot that they demand, by outcome: reached or not_reached.",
            ("outcome",),
        )
        self.subscriptions = self._gauge("braid_subscriptions", "Open subscriptions to rows.")
        self.followed_tables = self._gauge(
            "braid_followed_tables", "Tables that are followed, because rows were requested lately."
        )
        self.staleness = self._gauge(
            "braid_followed_table_staleness_seconds",
            "Time since it was verified that the served snapshot is the newest; of the followed table for which it is longest.",
            mode="livemax",
        )
        self.issuer_keys_age = self._gauge(
            "braid_issuer_keys_age_seconds",
            "Time since the keys of an issuer of JSON Web Tokens were loaded; of the worker for which it is longest.",
            ("issuer",),
            mode="livemax",
        )
        self.loop_delay = self._histogram(
            "braid_event_loop_delay_seconds",
            "How late the event loop runs a task that is due, measured once a second.",
        )
        self.memory = self._gauge(
            "braid_service_resident_memory_bytes", "Resident memory, of all workers together."
        )
        self._copies = self._gauge("braid_lookup_copies", "Copies of data files for lookups.")
        self._copy_memory = self._gauge(
            "braid_lookup_copy_memory_bytes", "Size of these copies in memory, of all workers together."
        )  # fmt: skip
        self._copy_memory_max = self._gauge(
            "braid_lookup_copy_memory_bytes_max", "Bound of the size of these copies in memory."
        )
        # Workers share copies on disk.
        self._copy_disk = self._gauge(
            "braid_lookup_copy_disk_bytes", "Size of these copies on local disk.", mode="livemax"
        )
        self._copy_disk_max = self._gauge(
            "braid_lookup_copy_disk_bytes_max",
            "Bound of the size of these copies on disk; 0 until it is determined with the first copy.",
            mode="livemax",
        )
        self._samples: list[Callable[[], None]] = []
        self._children: dict[tuple[str, str, int, str], Histogram] = {}

    def observe_request(
        self, method: str, route: str, status: int, row: str, seconds: float
    ) -> None:
        """Count a request, which takes about two microseconds.

        Args:
            method: The method.
            route: Template of the path, with braces for the names of tables and so on.
            status: Status of the answer; 0: the request ended without one.
            row: State of the row.
            seconds: Duration.
        """
        # Clients may send any method; those that no route has are one series.
        key = (method if method in _METHODS else "other", route, status, row)
        child = self._children.get(key)
        if child is None:
            child = self._child(key)
        child.observe(seconds)

    def sample_with(self, sample: Callable[[], None]) -> None:
        """Let `sample` call a function, which sets metrics in microseconds and waits for nothing."""
        self._samples.append(sample)

    def sample(self) -> None:
        """Set what has a size at any moment."""
        for one in self._samples:
            one()

    def set_copies(self, usage: CopyUsage) -> None:
        """Set number and size of the copies of data files."""
        self._copies.set(usage.copies)
        self._copy_memory.set(usage.memory_bytes)
        self._copy_memory_max.set(usage.max_memory_bytes)
        self._copy_disk.set(usage.disk_bytes)
        self._copy_disk_max.set(usage.max_disk_bytes or 0)

    def set_issuer_key_ages(self, seconds: Mapping[str, float]) -> None:
        """Set how long ago the keys of issuers were loaded, by their names."""
        for issuer, age_s in seconds.items():
            self.issuer_keys_age.labels(issuer).set(age_s)

    def registry_of_all(self, *states: Collector) -> CollectorRegistry:
        """Return a registry with these metrics, of all workers if there are several, and those of `states`."""
        if self._directory is None:
            return joined(process_registry(), self.registry, *states)
        return joined(build_metrics(), values_of_all(self._directory), *states)

    def _child(self, key: tuple[str, str, int, str]) -> Histogram:
        method, route, status, row = key
        label = f"{status // 100}xx" if status else "unanswered"
        child = self._children[key] = self._requests.labels(method, route, label, row)
        return child

    def _histogram(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Histogram:
        return Histogram(name, help_text, labels, registry=self.registry, buckets=_SECONDS)

    def _counter(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(name, help_text, labels, registry=self.registry)

    def _gauge(
        self, name: str, help_text: str, labels: Sequence[str] = (), *, mode: str = "livesum"
    ) -> Gauge:
        return Gauge(
            name,
            help_text,
            labels,
            registry=self.registry,
            multiprocess_mode=mode,  # type: ignore[arg-type]  # a literal in the library
        )
