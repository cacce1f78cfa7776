"""Runs of a peer on Spark, each in another process: its interpreter and jars, its commits, and the state and memory that it used."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.ingest.bed import TIMEOUT_S, IngestBed
from benchmarks.ingest.commit_log import Commit
from benchmarks.ingest.processes import ProcessWatch
from benchmarks.peers import spark_worker
from benchmarks.peers.spark_worker import Task
from benchmarks.peers.wide_report import SideResult
from braid.demo.processes import ProcessFailed
from braid.lake import SystemClock
from braid.pipelines.spark.jars import resolve

ROOT: Final = Path(__file__).parents[2]
PEER_PYTHON: Final = ROOT / ".venv-spark-peers" / "bin" / "python"
# The connector of the peers' Spark, and what each table format adds to it.
_CONNECTOR: Final = ("spark-", "kafka-clients", "commons-pool2")
_FORMAT_JARS: Final = {"delta": ("delta-",), "iceberg": ("iceberg-",)}


def run_side(
    bed: IngestBed,
    engine: str,
    topics: Mapping[str, str],
    *,
    keys: int,
    batch_records: int,
    memory: str,
) -> SideResult:
    """Run a peer until it has read all messages, and return what it did.

    Args:
        bed: Has the broker.
        engine: An engine of `spark_worker`.
        topics: Topic by stream, filled with one message of each key.
        keys: Number of keys.
        batch_records: Bound of a micro-batch, for each topic.
        memory: Heap of the JVM.

    Raises:
        ProcessFailed: The peer ended with an error.
        FileNotFoundError: Its environment is missing.
    """
    work_dir = bed.work_dir / f"{engine}-{keys}"
    work_dir.mkdir()
    task = Task(
        engine=engine,
        servers=bed.broker.bootstrap_servers,
        topics=topics,
        records=keys,
        batch_records=batch_records,
        jars=class_path(engine),
        work_dir=str(work_dir),
        out=str(work_dir / "out.jsonl"),
        memory=memory,
    )
    with ProcessWatch() as watch:
        watch.watch_folders(work_dir, "checkpoints")
        begin_ms = SystemClock().now_ms()
        child = bed.supervisor.start(
            f"{engine}-{keys}",
            [str(python_of(engine)), "-m", spark_worker.__name__, json.dumps(asdict(task))],
            work_dir=ROOT,
            environment={"PYTHONPATH": str(ROOT)},
        )
        watch.watch("peer", child.process_id)
        if child.wait(timeout_s=TIMEOUT_S):
            raise ProcessFailed(child, what=f"ended with {child.return_code}")
        state_bytes, memory_bytes = watch.folder_bytes, watch.total_bytes
    *batches, last = map(json.loads, Path(task.out).read_text(encoding="utf-8").splitlines())
    return SideResult(
        side=engine,
        keys=keys,
        begin_ms=begin_ms,
        commits=[
            Commit(
                stream=batch["stream"], time_ms=batch["time_ms"], records=batch["records"], end={}
            )
            for batch in batches
        ],
        rows=last["rows"],
        state_bytes=state_bytes,
        memory_bytes=memory_bytes,
    )


def python_of(engine: str) -> Path:
    """Return the interpreter of an engine's environment; the join runs on Braid's own Spark.

    Raises:
        FileNotFoundError: The environment is missing.
    """
    if engine not in _FORMAT_JARS:
        return Path(sys.executable)
    if not PEER_PYTHON.exists():
        message = f"{PEER_PYTHON} is missing\nhint: make spark-peers"
        raise FileNotFoundError(message)
    return PEER_PYTHON


def class_path(engine: str) -> list[str]:
    """Return the jars of an engine, which are downloaded if they are missing."""
    if engine not in _FORMAT_JARS:
        return [str(jar) for jar in resolve(["spark"])["spark"]]
    wanted = _CONNECTOR + _FORMAT_JARS[engine]
    jars = resolve(["spark_peers"])["spark_peers"]
    return [str(jar) for jar in jars if jar.name.startswith(wanted)]
