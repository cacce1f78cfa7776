"""Workers of one server share the values of their metrics: counts are added up, and survive a worker."""

import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

WORKER = """
import sys
from braid.telemetry.metric_texts import metrics_text
from braid.telemetry.worker_values import share_values
share_values(sys.argv[1], int(sys.argv[2]))
from braid.service.metrics import ServiceMetrics
metrics = ServiceMetrics(workers_directory=sys.argv[1])
metrics.observe_request("GET", "/x", 200, "", 0.25)
metrics.followed_tables.set(2)
metrics.staleness.set(float(sys.argv[2]) + 1)
print(metrics_text(metrics.registry_of_all())[0].decode())
"""


def seen_by_worker(directory: Path, place: int) -> dict[str, float]:
    """Let a worker count a request; return the values that it shows then."""
    command = [sys.executable, "-c", WORKER, str(directory), str(place)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "le" not in sample.labels
    }


@pytest.mark.slow
def test_any_worker_shows_the_requests_of_all_and_one_that_starts_again_counts_on(
    tmp_path: Path,
) -> None:
    first = seen_by_worker(tmp_path, 0)
    both = seen_by_worker(tmp_path, 1)
    again = seen_by_worker(tmp_path, 0)

    counted = "braid_http_request_duration_seconds_count"
    assert [found[counted] for found in (first, both, again)] == [1, 2, 3]
    assert both["braid_http_request_duration_seconds_sum"] == 0.5
    assert both["braid_followed_tables"] == 4
    assert again["braid_followed_tables"] == 4  # two places, however often a worker has started
    assert both["braid_followed_table_staleness_seconds"] == 2
    assert len(list(tmp_path.iterdir())) == 2 * 4  # counters, histograms and two kinds of gauges
