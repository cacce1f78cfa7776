"""Metrics of the disks that a process writes to, so that an alert comes before one is full."""

import shutil
from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_LABELS: Final = ("folder",)
_FREE: Final = (
    "braid_disk_free_bytes",
    "Free space of the disk of a folder: `warehouse`, `copies` for lookups, or `temporary` files of a runner. None for an object store.",
)
_SIZE: Final = ("braid_disk_size_bytes", "Size of this disk.")


class DiskMetrics(Collector):
    """Free space and size of the disks of folders, asked of the system when they are collected."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        """Ask nothing yet.

        Args:
            folders: Paths by the value of the label; addresses of object stores are left out.
        """
        self._folders = {name: path for name, path in folders.items() if "://" not in path}

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without samples."""
        for name, meaning in (_FREE, _SIZE):
            yield GaugeMetricFamily(name, meaning, labels=_LABELS)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, without the folders that do not exist or cannot be asked for now."""
        free, size = self.describe()
        for folder, path in self._folders.items():
            try:
                usage = shutil.disk_usage(path)
            except OSError:
                continue  # an alert about the storage itself tells of it
            # Of what is not kept for root, as programs see it.
            for metric, value in ((free, usage.free), (size, usage.free + usage.used)):
                assert isinstance(metric, GaugeMetricFamily)
                metric.add_metric([folder], value)
        yield free
        yield size
