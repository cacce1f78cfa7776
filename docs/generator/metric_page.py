"""The reference page of metrics, from their declarations."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.metrics import MetricWrapperBase

from braid.lake import ManualClock
from braid.pipelines.metrics import RunnerMetrics
from braid.service.metrics import ServiceMetrics
from braid.telemetry.disk_metrics import DiskMetrics
from braid.telemetry.report_metrics import ReportMetrics
from docs.generator.markdown import code, page, section, table

PAGE: Final = "docs/reference/metrics.md"

_INTRODUCTION = (
    "The metrics of all processes; [Watch a deployment](../guides/watch.md) tells where they are. A histogram has the series "
    "`…_bucket`, `…_sum` and `…_count`. Every process but a service with several workers has the usual `process_…` and `python_…` as well, "
    "and all have `braid_build_info` with the version."
)
_REPORTED = (
    "Shown by the service, by the runner that has the stream or table, and by `braid maintain` for its tables: take each once, as "
    "`max by (table, stream) (…)` does."
)

_DISKS = "Shown by each process, of the disks that it writes to."

_Row = tuple[str, str, str, str]


def metric_page() -> str:
    """Return the page of all metrics, by the processes that have them."""
    head = ("metric", "kind", "labels", "meaning")
    reports = ReportMetrics(list, clock=ManualClock(), runner_timeout_ms=0)
    return page(
        "Metrics",
        _INTRODUCTION,
        section("Streams, tables and runners", _REPORTED, table(head, map(_reported, reports.describe()))),
        section("Disks", _DISKS, table(head, map(_reported, DiskMetrics({}).describe()))),
        section("Service", table(head, _declared(ServiceMetrics().registry))),
        section("Runner", table(head, _declared(RunnerMetrics().registry))),
    )  # fmt: skip


def metric_names() -> frozenset[str]:
    """Return the names of all series that processes have, besides those of the client library."""
    found = set()
    for line in metric_page().splitlines():
        if line.startswith("| `braid_"):
            name, kind = (part.strip().strip("`") for part in line.split("|")[1:3])
            found |= (
                {f"{name}_{suffix}" for suffix in ("bucket", "sum", "count")}
                if kind == "histogram"
                else {name}
            )
    return frozenset(found)


def _reported(metric: Metric) -> _Row:
    labels = getattr(metric, "_labelnames", ())
    return _row(metric, labels)


def _declared(registry: CollectorRegistry) -> Iterator[_Row]:
    """Yield the metrics of a registry that are not those of the client library or the build."""
    for collector in registry._collector_to_names:
        if isinstance(collector, MetricWrapperBase):
            yield _row(next(iter(collector.describe())), collector._labelnames)


def _row(metric: Metric, labels: tuple[str, ...]) -> _Row:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    return code(name), metric.type, ", ".join(map(code, labels)), metric.documentation
