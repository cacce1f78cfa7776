"""Values of the metrics of several processes of one server, in files that the processes map, so that any of them can add all up.

The library keeps these files per process. Here they are kept per *place* of a worker: a worker that is started again continues with
the counts of the one before it, so counters never fall, and the number of files is bounded.
"""

import os

from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"  # where the library looks for it


def share_values(directory: str, place: int) -> None:
    """Keep the values of all metrics that this process makes from now on in files that its siblings read.

    Args:
        directory: The directory of all workers; not removed before they have ended.
        place: The place of this worker; no other process that runs has it.
    """
    os.environ[_DIRECTORY] = directory
    # As the library documents it; its functions have no types.
    values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]


def values_of_all(directory: str) -> CollectorRegistry:
    """Return a registry with the metrics of all workers, read from their files when it is collected."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=directory)  # type: ignore[no-untyped-call]
    return registry


def joined(*collectors: Collector) -> CollectorRegistry:
    """Return a registry with the metrics of several."""
    registry = CollectorRegistry(auto_describe=False)
    for one in collectors:
        registry.register(one)
    return registry
