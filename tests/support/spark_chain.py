"""Chain of two tables: writers → table A → a query of Spark that transforms its changes → table B.

Writers and the query are processes that can be killed at any moment; what they write is known from numbers alone.
"""

import multiprocessing
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from braid.lake import BATCHES
from braid.pipelines.batch_source.source import register
from braid.pipelines.spark.session import build_session
from braid.pipelines.table_sink.commit import commit_rows
from braid.pipelines.table_sink.stream_target import open_target
from braid.pipelines.table_sink.write_options import WriteOptions
from braid.pipelines.table_sink.write_task import write_task
from tests.support.spark_fed_table import SparkFedTable

KEYS = 40
ROWS = 25
_QUERY = "writer"
_STREAMS = ("ordered", "paid")
_A: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "item", "type": "BIGINT"},
        {"name": "amount", "type": "BIGINT"},
    ],
    "primary_key": ["id"],
    "buckets": 2,
    "sequence_groups": [
        {"name": "ordered", "columns": ["item"]},
        {"name": "paid", "columns": ["amount"]},
    ],
    "options": {"changelog-producer": "lookup"},
}
_B: dict[str, Any] = {
    "columns": [
        {"name": "key", "type": "STRING"},
        {"name": "total", "type": "BIGINT"},
        {"name": "is_whole", "type": "BOOLEAN"},
    ],
    "primary_key": ["key"],
    "buckets": 3,
    "sequence_groups": [{"name": "sums", "columns": ["total", "is_whole"]}],
}


def rows_of(stream: str, batch: int) -> list[tuple[int, int]]:
    """Return keys and values of a batch; some keys are there more than once."""
    start = batch * 7 + _STREAMS.index(stream) * 3
    return [((start + row * row) % KEYS, batch * ROWS + row) for row in range(ROWS)]


@dataclass(kw_only=True)
class SparkChain:
    """The two tables in a folder, and what runs on them.

    Attributes:
        directory: The folder.
        batches: Batches that each writer writes.
    """

    directory: Path
    batches: int
    a: SparkFedTable = field(init=False)
    b: SparkFedTable = field(init=False)

    def __post_init__(self) -> None:
        streams: dict[str, dict[str, str]] = {name: {} for name in _STREAMS}
        self.a = SparkFedTable(directory=self.directory, name="shop.a", spec=_A, streams=streams)
        self.b = SparkFedTable(
            directory=self.directory, name="shop.b", spec=_B, streams={"sums": {}}
        )

    def writer(self, stream: str, *, until: int | None = None) -> multiprocessing.Process:
        """Start a process that writes what a stream has not written yet.

        Args:
            stream: The stream.
            until: How many batches there are then; None: all.
        """
        context = multiprocessing.get_context("fork")
        process = context.Process(
            target=write_batches,
            args=(self.a.warehouse, stream, self.batches if until is None else until),
        )
        process.start()
        return process  # type: ignore[return-value]

    def written(self) -> int:
        """Return the number of batches that writers have committed."""
        positions = self.a.table.committer().stream_positions()
        return sum(positions[name].offsets[BATCHES] for name in _STREAMS if name in positions)

    def is_written(self) -> bool:
        """Return whether the writers have written everything."""
        return self.written() == len(_STREAMS) * self.batches

    def query_process(self, work: Path) -> Popen[bytes]:
        """Start a process with a Spark of its own that runs the query until it is killed."""
        arguments = [sys.executable, "-m", "tests.support.spark_chain", self.a.warehouse]
        return Popen([*arguments, str(self.directory), str(work)], start_new_session=True)

    def expected(self) -> set[tuple[str, int, bool]]:
        """Return the rows of B, computed from what the writers write."""
        rows: dict[int, dict[str, int]] = {}
        for stream in _STREAMS:
            for batch in range(self.batches):
                for key, value in rows_of(stream, batch):
                    rows.setdefault(key, {})[stream] = value
        return {
            (f"k{key}", sum(row.values()), len(row) == len(_STREAMS)) for key, row in rows.items()
        }

    def found(self) -> set[tuple[str, int, bool]]:
        """Return the rows of B."""
        found = self.b.rows("key", "total", "is_whole")
        assert len({row[0] for row in found}) == len(found)
        return set(found)


def kill_group(process: Popen[bytes]) -> None:
    """Kill a process that leads a group, with its JVM and workers."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def write_batches(warehouse: str, stream: str, batches: int) -> None:
    """Write the batches of a stream that the table does not have yet."""
    options = WriteOptions(warehouse=warehouse, table="shop.a", stream=stream)
    column = {"ordered": "item", "paid": "amount"}[stream]
    target = open_target(options)
    position = target.table.committer().stream_positions().get(stream)
    for batch in range(0 if position is None else position.offsets[BATCHES], batches):
        keys, values = zip(*rows_of(stream, batch), strict=True)
        rows = pa.RecordBatch.from_pydict(
            {"id": pa.array(keys, pa.int64()), column: pa.array(values, pa.int64())}
        )
        part = target.batch(options, query=_QUERY, batch_id=batch, write=None)
        commit_rows(target, [write_task(target, options, part, iter([rows]))])


def changes(session: SparkSession, warehouse: str) -> DataFrame:
    """Return the rows of B that follow from changes of A."""
    return (
        session.readStream.format("braid")
        .options(warehouse=warehouse, table="shop.a", start="full", maxFilesPerTrigger="3")
        .load()
        .where("_row_kind in ('+I', '+U')")
        .selectExpr(
            "concat('k', id) key",
            "coalesce(item, 0) + coalesce(amount, 0) total",
            "item is not null and amount is not null is_whole",
        )
    )


def start_query(
    session: SparkSession, warehouse: str, directory: Path, **trigger: Any
) -> StreamingQuery:
    """Start the query at its checkpoint."""
    return (
        changes(session, warehouse)
        .writeStream.format("braid")
        .options(warehouse=warehouse, table="shop.b", stream="sums")
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(**trigger)
        .start()
    )


def main(warehouse: str, directory: Path, work: Path) -> None:
    """Run the query until the process is killed."""
    session = build_session(app_name="chain", work_dir=work, cores=2)
    register(session)
    start_query(session, warehouse, directory, processingTime="50 milliseconds").awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
