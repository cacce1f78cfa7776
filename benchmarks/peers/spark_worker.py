"""Program of a peer on Spark: combines three topics into wide rows, until it has read every message.

Its only argument is a JSON object (`Task`). It writes lines of JSON to the file `out`: one line for each
micro-batch, and at the end a line with the number of complete rows. It runs in the environment of its engine.

| engine | wide rows |
|---|---|
| `join` | two stream-stream joins, state in RocksDB; the rows are counted and written nowhere |
| `delta` | three queries, each with `MERGE INTO` a Delta table with deletion vectors |
| `iceberg` | three queries, each with `MERGE INTO` an Iceberg table, merge-on-read |

If two queries merge into one table at the same time, the later one fails with a conflict. So the three queries
take turns, which costs little on a few cores.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.ingest.shape import (
    KEY,
    STREAMS,
    stream_columns,
    table_columns,
    value_columns,
    version_column,
)

_POLL_S: Final = 0.5
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CONF: Final[Mapping[str, Mapping[str, str]]] = {
    "join": {"spark.sql.streaming.stateStore.providerClass": _ROCKSDB},
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        # Each query has a catalog of its own, and has to see what the others have committed.
        "spark.sql.catalog.lake.cache-enabled": "false",
    },
}
_TABLES: Final[Mapping[str, str]] = {
    "delta": "spark_catalog.default.wide",
    "iceberg": "lake.db.wide",
}
_STORAGE: Final[Mapping[str, str]] = {
    "delta": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "iceberg": "USING iceberg TBLPROPERTIES ('format-version' = '2', "
    "'write.merge.mode' = 'merge-on-read')",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a peer has to do.

    Attributes:
        engine: `join`, `delta` or `iceberg`.
        servers: Of the broker, `host:port`.
        topics: Topic by stream.
        records: Messages of each topic.
        batch_records: Bound of a micro-batch, for each topic.
        jars: Class path of Spark besides its own jars.
        work_dir: Folder for checkpoints, table and scratch files.
        out: File for the results.
        memory: Heap of the JVM, as Spark writes it.
        cores: Tasks that run at once.
    """

    engine: str
    servers: str
    topics: Mapping[str, str]
    records: int
    batch_records: int
    jars: Sequence[str]
    work_dir: str
    out: str
    memory: str
    cores: int = 2


def main(argument: str) -> None:
    """Do what the argument says."""
    task = Task(**json.loads(argument))
    session = _session(task)
    if task.engine == "join":
        queries = [_join(session, task)]
    else:
        _create_table(session, task.engine)
        turn = threading.Lock()
        queries = [_merging(session, task, stream, turn) for stream in STREAMS]
    batches: dict[tuple[str, int], dict[str, Any]] = {}
    while sum(batch["records"] for batch in batches.values()) < len(STREAMS) * task.records:
        time.sleep(_POLL_S)
        for query in queries:
            if query.exception() is not None:
                raise query.exception()
            for progress in _progress(query):
                batch = batch_of(query.name, progress)
                if batch["records"]:
                    batches[query.name, batch["batch"]] = batch
    rows = sum(batch["rows"] for batch in batches.values())
    for query in queries:
        query.stop()
    if task.engine != "join":
        complete = " AND ".join(f"{version_column(stream)} IS NOT NULL" for stream in STREAMS)
        rows = session.table(_TABLES[task.engine]).where(complete).count()
    lines = [*sorted(batches.values(), key=lambda batch: batch["time_ms"]), {"rows": rows}]
    with Path(task.out).open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)
    session.stop()


def batch_of(name: str, progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return a micro-batch from Spark's report of its progress.

    Records are counted by offsets: Spark's own count has those again that a query reads again.

    Returns:
        `stream`, `batch`, `time_ms` (its end, milliseconds since 1970 UTC), `records`, and `rows`, which the sink
        got; 0 where it does not say.
    """
    began = datetime.fromisoformat(progress["timestamp"])
    records = 0
    for source in progress["sources"]:
        start, end = (_offsets(source[name]) for name in ("startOffset", "endOffset"))
        records += sum(end.values()) - sum(start.values())
    return {
        "stream": name,
        "batch": progress["batchId"],
        "time_ms": int(began.timestamp() * 1_000) + progress["durationMs"]["triggerExecution"],
        "records": records,
        "rows": max(0, progress["sink"].get("numOutputRows") or 0),
    }


def _progress(query: Any) -> list[dict[str, Any]]:
    """Return Spark's newest reports as it writes them: offsets are objects, and not texts."""
    return [json.loads(progress.json) for progress in query.recentProgress]


def _offsets(value: Any) -> dict[str, int]:
    """Return the next offset of each partition; empty before the first micro-batch."""
    return {
        f"{topic}/{partition}": offset
        for topic, partitions in (value or {}).items()
        for partition, offset in partitions.items()
    }


def merge_sql(table: str, source: str, stream: str) -> str:
    """Return the statement that merges a micro-batch of a stream into the wide table.

    A row is updated unless it has a newer version of the stream's columns already.
    """
    version = version_column(stream)
    columns = [version, *value_columns(stream)]
    updates = ", ".join(f"t.{name} = s.{name}" for name in columns)
    names = ", ".join([KEY, *columns])
    values = ", ".join(f"s.{name}" for name in [KEY, *columns])
    # All names are of `shape` and of this module.
    return " ".join(
        [
            f"MERGE INTO {table} t USING {source} s ON t.{KEY} = s.{KEY}",
            f"WHEN MATCHED AND (t.{version} IS NULL OR t.{version} <= s.{version})",
            f"THEN UPDATE SET {updates}",
            f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})",  # noqa: S608
        ]
    )


def ddl(columns: Mapping[str, str]) -> str:
    """Return columns as Spark SQL declares them."""
    return ", ".join(f"{name} {sql}" for name, sql in columns.items())


def _session(task: Task) -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Here, not above: what is above is tested without Spark.
    from pyspark.sql import SparkSession  # noqa: PLC0415

    settings = {
        "spark.driver.memory": task.memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": f"{task.work_dir}/scratch",
        "spark.sql.warehouse.dir": f"{task.work_dir}/warehouse",
        "spark.sql.catalog.lake.warehouse": f"{task.work_dir}/warehouse",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(task.cores),
        "spark.scheduler.mode": "FAIR",
        "spark.driver.extraClassPath": os.pathsep.join(task.jars),
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Djava.io.tmpdir={task.work_dir}",
        **_CONF[task.engine],
    }
    builder = SparkSession.builder.master(f"local[{task.cores}]").appName(task.engine)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _read(session: Any, task: Task, stream: str) -> Any:
    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", task.servers)
        # As Braid's own source has it.
        .option("kafka.fetch.max.wait.ms", "5")
        .option("subscribe", task.topics[stream])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", str(task.batch_records))
        .load()
    )
    fields = ddl(stream_columns(stream))
    return records.selectExpr(f"from_json(cast(value AS string), '{fields}') AS r").select("r.*")


def _join(session: Any, task: Task) -> Any:
    first, *others = (
        _read(session, task, stream).withColumnRenamed(KEY, f"{stream}_{KEY}") for stream in STREAMS
    )
    wide = first
    for stream, other in zip(STREAMS[1:], others, strict=True):
        left, right = f"{STREAMS[0]}_{KEY}", f"{stream}_{KEY}"
        wide = wide.join(other, wide[left] == other[right])
    return _start(wide.writeStream.format("noop"), task, "join")


def _create_table(session: Any, engine: str) -> None:
    if engine == "iceberg":
        session.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    session.sql(f"CREATE TABLE {_TABLES[engine]} ({ddl(table_columns())}) {_STORAGE[engine]}")


def _merging(session: Any, task: Task, stream: str, turn: threading.Lock) -> Any:
    statement = merge_sql(_TABLES[task.engine], f"batch_{stream}", stream)

    def merge(batch: Any, _number: int) -> None:
        # A merge reads its source more than once.
        batch.persist()
        batch.createOrReplaceTempView(f"batch_{stream}")
        with turn:
            batch.sparkSession.sql(statement)
        batch.unpersist()

    writer = _read(session, task, stream).writeStream.foreachBatch(merge)
    return _start(writer, task, stream)


def _start(writer: Any, task: Task, name: str) -> Any:
    checkpoint = f"{task.work_dir}/checkpoints/{name}"
    return writer.queryName(name).option("checkpointLocation", checkpoint).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
