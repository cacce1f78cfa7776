"""Processes of a benchmark's run: which kind each is, and what those of a kind used together."""

import os
from pathlib import Path

import pytest

from benchmarks.ingest.processes import (
    ProcessSample,
    ProcessWatch,
    Usage,
    UsageSum,
    folder_bytes,
    kind_of,
    roots_of,
)
from braid.pipelines.spark.target import WORKER_DAEMON

WORKER = ["/venv/bin/python", "-m", WORKER_DAEMON, "pyspark.worker"]
COMPACTION = ["/venv/bin/python", "-c", "from multiprocessing.spawn import spawn_main; …"]


def sample(process: int, kind: str, *, cpu_s: float, peak: int, share: int) -> ProcessSample:
    return ProcessSample(
        identity=(process, 1), kind=kind, cpu_s=cpu_s, peak_bytes=peak, share_bytes=share
    )


@pytest.mark.parametrize(
    ("root", "command", "is_root", "kind"),
    [
        ("broker", ["/usr/bin/java", "kafka.Kafka"], True, "broker"),
        ("driver", ["python", "-m", "braid", "runner"], True, "driver"),
        ("driver", ["/usr/lib/jvm/bin/java", "-cp", "x"], False, "driver: JVM"),
        ("driver", WORKER, False, "driver: Python workers"),
        ("driver", COMPACTION, False, "driver: compaction"),
        ("driver", ["/bin/sh"], False, "driver: other"),
        ("driver", [], False, "driver: other"),
    ],
)
def test_a_process_is_known_by_its_command(
    root: str, command: list[str], is_root: bool, kind: str
) -> None:
    assert kind_of(root, command, is_root=is_root) == kind


def test_processes_belong_to_the_nearest_one_that_is_named() -> None:
    parents = {1: 0, 10: 1, 11: 10, 12: 11, 20: 1, 21: 20}

    assert roots_of(parents, {10: "outer", 11: "inner"}) == {10: "outer", 11: "inner", 12: "inner"}


def test_usage_counts_processes_that_have_ended() -> None:
    total = UsageSum()
    total.add(
        [
            sample(1, "workers", cpu_s=1.0, peak=50, share=40),
            sample(2, "workers", cpu_s=2.0, peak=70, share=60),
            sample(3, "JVM", cpu_s=9.0, peak=500, share=500),
        ]
    )
    total.add([sample(2, "workers", cpu_s=2.5, peak=70, share=10)])

    assert total.usage() == {
        "JVM": Usage(processes=1, cpu_s=9.0, peak_bytes=500, sum_bytes=500),
        "workers": Usage(processes=2, cpu_s=3.5, peak_bytes=70, sum_bytes=100),
    }
    assert total.total_bytes == 600


def test_this_process_is_found() -> None:
    with ProcessWatch() as watch:
        watch.watch("tests", os.getpid())
        usage = watch.usage()["tests"]

    assert usage.cpu_s > 0
    assert usage.peak_bytes >= usage.sum_bytes > 0


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, size in (("x", 3), ("a/y", 4), ("a/b/z", 5)):
        (tmp_path / name).write_bytes(bytes(size))

    assert folder_bytes(tmp_path) == 12
