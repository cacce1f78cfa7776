"""Metrics as texts that Prometheus reads, and what each process has of its own: version, memory, processor, collections of garbage."""

from importlib.metadata import version
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    ProcessCollector,
    disable_created_metrics,
    exposition,
)
from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.registry import Collector

_VERSION: Final = version("braid-lake")

# A series more for each counter, which nothing reads.
disable_created_metrics()  # type: ignore[no-untyped-call]


class _Build(Collector):
    def collect(self) -> list[Metric]:
        return [InfoMetricFamily("braid_build", "The version of Braid.", {"version": _VERSION})]


def build_metrics() -> Collector:
    """Return a metric with the version of Braid."""
    return _Build()


def process_registry() -> CollectorRegistry:
    """Return a registry with the metrics of this process."""
    registry = CollectorRegistry()
    registry.register(build_metrics())
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def metrics_text(registry: Collector, accept: str | None = None) -> tuple[bytes, str]:
    """Return the metrics of a registry, and their media type.

    Args:
        registry: The registry.
        accept: The header of that name: the text format of Prometheus, or that of OpenMetrics where it is accepted.
    """
    encode, media_type = exposition.choose_encoder(accept or "")
    return encode(registry), media_type
