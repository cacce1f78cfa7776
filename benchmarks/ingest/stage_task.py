"""Write task of a stream with a clock for its stages; it runs in Spark's Python workers, like the task without a clock."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from benchmarks.ingest.stage_clock import REST, StageClock
from braid.lake import TableWriter
from braid.lake.write import table_writer
from braid.pipelines.sink import write_task
from braid.pipelines.sink.record_chunks import unpack_chunks
from braid.pipelines.sink.task_report import REPORT_SCHEMA
from braid.pipelines.sink.write_task import WriteTask

RECEIVE: Final = "crossing to Python, received"
PARSE: Final = "parse"
COLUMNS: Final = "table columns, checks, numbers"
FOLD: Final = "route, sort and fold"
FILES: Final = "Parquet and statistics"
STAGES_SCHEMA: Final = f"{REPORT_SCHEMA}, stages string"

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, kw_only=True)
class ClockedTask:
    """Runs a write task, and adds the seconds of its stages to its report."""

    task: WriteTask

    def __call__(self, batches: Batches) -> Batches:
        """Write the records of a task and yield its report."""
        clock = StageClock()
        stages = {
            (write_task, "read_sifted"): PARSE,
            (write_task, "accepted_rows"): COLUMNS,
            (TableWriter, "write"): COLUMNS,
            (TableWriter, "flush"): FOLD,
            (table_writer, "write_level_files"): FILES,
        }
        with clock.installed(stages), clock.stage(REST):
            (report,) = self.task(clock.iterated(RECEIVE, batches))
        yield report.append_column("stages", pa.array([json.dumps(clock.seconds)]))


def drained(batches: Batches) -> Batches:
    """Receive the records of a task, and yield nothing of them."""
    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"done": pa.array([True])})


def plain_function(task: ClockedTask, *, is_routed: bool) -> Callable[[Batches], Batches]:
    """Return the task as a plain function, because Spark accepts nothing else.

    Args:
        task: The task.
        is_routed: Whether it receives chunks of records (`record_chunks`) instead of records.
    """

    def write(batches: Batches) -> Batches:
        return task(unpack_chunks(batches) if is_routed else batches)

    return write
