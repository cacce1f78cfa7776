"""Program: a runner, without Spark, that may have no stream of the warehouse."""

import sys
import threading

from benchmarks.many_streams.counted_storage import counted
from benchmarks.many_streams.measured_process import answer_questions
from braid.lake import LocalFileIO, SystemClock
from braid.pipelines.runner import Runner
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.stream.stream_query import StreamQuery
from braid.schemas import StreamEntry, TableDocument


class _NoQueries:
    """Starts no query: the runner has no stream."""

    def start(self, document: TableDocument, entry: StreamEntry) -> StreamQuery:
        message = f"the runner has got a stream: {document.identifier}/{entry.spec.name}"
        raise AssertionError(message)

    def record_completion(self, table: str, stream: str, *, generation: int) -> None:
        message = f"the runner has got a stream: {table}/{stream}, generation {generation}"
        raise AssertionError(message)


def main(warehouse: str) -> None:
    """Run until standard input ends."""
    file_io, storage = counted(LocalFileIO())
    settings = RunnerSettings(
        warehouse=warehouse, name="idle", streams=("bench.absent",), maintains=False
    )
    runner = Runner(settings, starter=_NoQueries(), file_io=file_io, clock=SystemClock())
    stop = threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    answer_questions(storage, port=0)
    stop.set()
    thread.join()


if __name__ == "__main__":
    main(sys.argv[1])
