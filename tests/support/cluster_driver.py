"""Driver of a test on a cluster, as a program: reads, writes, compacts, cleans up and backfills on executors, and prints what it saw as JSON.

    python -m tests.support.cluster_driver MASTER ARCHIVE EVENTS SERVERS TOPIC WAREHOUSE TABLE STREAM FILES KEY PASSWORD

Executors get its functions by value, because it is the main module, and they do not have the tests.
"""

import os
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession, functions

from braid.cli.arguments import known_clusters
from braid.cli.backfill import BackfillArguments, backfill
from braid.lake import (
    Catalog,
    SystemClock,
    Table,
    compact_buckets,
    parse_messages,
    serialize_messages,
)
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.source import read_ranges
from braid.pipelines.spark.bucket_pool import SparkPool
from braid.pipelines.spark.cluster_session import cluster_session
from braid.pipelines.spark.executor_watch import ExecutorWatch
from braid.pipelines.spark.session import jvm_process_id
from braid.pipelines.spark.single_tasks import SingleTasks
from braid.pipelines.spark.spread_paths import SparkSpread
from braid.pipelines.spark.target import SparkTarget
from tests.support.waiting import wait_until

_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}
_LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{password}";'
_VARIABLE = "STORE_KEY"


def main() -> None:
    """Do it."""
    master, archive, events, servers, topic, warehouse, identifier = sys.argv[1:8]
    stream, files, key, password = sys.argv[8:]
    target = SparkTarget(
        master=master,
        archive=Path(archive),
        python=sys.executable,
        conf={**_CONF, "spark.eventLog.dir": f"file:{events}"},
        executor_env={_VARIABLE: key},
    )
    options = {"sasl.jaas.config": _LOGIN.format(password=password)}
    cluster = KafkaCluster(bootstrap_servers=servers, options=options)
    table = Catalog(warehouse).table(identifier)
    with cluster_session(target, app_name="driver", warehouse=warehouse, cores=2) as session:
        shown: dict[str, Any] = {"read": _read(session, cluster, topic)}
        watch = ExecutorWatch(session, clock=SystemClock(), stop=threading.Event())
        _write(session.sparkContext, table)
        shown["executors"] = _executors(watch)
        pool = SparkPool(session.sparkContext, parallel=2)
        shown["errors"] = [str(one.error) for one in compact_buckets(pool, table, full=True)]
        pool.close()
        spread = SparkSpread(session.sparkContext, parallel=2)
        report = table.clean_orphans(min_age_ms=0, delete=True, spread=spread)
        shown["orphans"] = [one.path for one in report.files]
        _backfill(session.sparkContext, warehouse, stream, source=files)
        _backfill(session.sparkContext, warehouse, stream, **_two_records(servers, topic))
        shown["pages"] = _pages(session.sparkContext)
        shown["command"] = Path(f"/proc/{jvm_process_id(session)}/cmdline").read_text()
    sys.stdout.write(orjson.dumps(shown).decode())


def _read(session: SparkSession, cluster: KafkaCluster, topic: str) -> list[list[str]]:
    """Return the values of a topic, each with the variable of the executor that read it."""
    records = read_ranges(session, cluster=cluster, topic=topic, start={0: 0}, end={0: 2})
    # A query with a plan that Spark shows, beside the one without.
    records.groupBy("partition").agg(functions.count("*")).collect()
    found = records.rdd.map(lambda row: [bytes(row.value).decode(), os.environ[_VARIABLE]])
    return list(found.collect())


def _write(context: SparkContext, table: Table) -> None:
    """Write rows in a task whose executor is killed once its files are there, and commit what the next attempt reports."""
    rows = pa.table({"k": pa.array(range(50), pa.int32()), "v": pa.array([7] * 50, pa.int32())})
    task = partial(_write_and_die, table=table, rows=rows)
    (messages,) = context.parallelize([0], 1).mapPartitions(task).collect()
    table.committer().commit(parse_messages(messages), commit_user="cluster")


def _write_and_die(_: Iterable[int], *, table: Table, rows: pa.Table) -> Iterator[bytes]:
    writer = table.writer()
    writer.write(rows)
    writer.flush()
    context = TaskContext.get()
    if context is not None and context.attemptNumber() == 0:
        # This process was forked by one that the executor has started.
        executor = Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1]
        os.kill(int(executor), signal.SIGKILL)
        time.sleep(600)
    yield serialize_messages(writer.prepare_commit().messages)


def _backfill(context: SparkContext, warehouse: str, stream: str, **source: Any) -> None:
    """Backfill a stream from a source, whose parts are tasks."""
    table, _, name = stream.partition("/")
    arguments = BackfillArguments(
        identifier=table,
        stream=name,
        name="-".join(source)[:20],
        rejects=Path(os.devnull),
        **source,
    )
    tasks = SingleTasks(context, parallel=2, name="backfill")
    with redirect_stdout(sys.stderr):
        backfill(warehouse, arguments, new_pool=lambda: nullcontext(tasks))
    tasks.close()


def _two_records(servers: str, topic: str) -> dict[str, Any]:
    """Return the arguments of a backfill from two records of a topic, each of which is a part."""
    return {
        "topic": topic,
        "from_offsets": "0:0",
        "to_offsets": "0:2",
        "clusters": known_clusters(None, kafka=servers),
        "rows_per_commit": 1,
    }


def _executors(watch: ExecutorWatch) -> dict[str, Any]:
    """Return what a runner would report."""

    def has_lost() -> bool:
        watch.look()
        return watch.progress is not None and watch.progress.lost > 0

    wait_until(has_lost, what=lambda: f"no executor was lost: {watch.progress}")
    assert watch.progress is not None
    return watch.progress.model_dump()


def _pages(context: SparkContext) -> list[str]:
    """Return what Spark shows: its settings, its queries with their plans, and the page of its settings."""
    api = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
    addresses = (
        f"{api}/environment",
        f"{api}/sql?details=true&planDescription=true",
        f"{context.uiWebUrl}/environment/",
    )
    found = []
    for address in addresses:
        with urllib.request.urlopen(address, timeout=60) as answer:
            found.append(answer.read().decode())
    return found


if __name__ == "__main__":
    main()
