"""Test bed of runners: the registry as the service writes it, and a runner in a thread."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog, SystemClock, file_io_for
from braid.pipelines.runner import Runner
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.stream.ingest import IngestContext
from braid.pipelines.stream.ingest_starter import IngestStarter
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.registrar import Registrar
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore, newest_report, stream_key
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import (
    DesiredState,
    RunnerProgress,
    SchemaChanges,
    StreamDefinition,
    StreamEntry,
    StreamProgress,
    StreamState,
    TableDocument,
)
from tests.integration.ingest_bed import IDENTIFIER, TRIGGER_MS, IngestBed
from tests.support.waiting import PATIENCE_S, wait_until

_PROGRAM = """\
import sys
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.pipelines.runner_process import main
from braid.pipelines.settings import RunnerSettings
warehouse, name, kafka = sys.argv[1:]
sys.exit(main(RunnerSettings(
    warehouse=warehouse, name=name, clusters=KafkaClusters().with_default(kafka), memory="512m",
    lease_ttl_ms=3_000, poll_ms=200, progress_ms=400, maintains=False,
)))
"""


class Registry:
    """The registry of a bed, as the service writes it."""

    def __init__(self, bed: IngestBed) -> None:
        file_io = bed.table().file_io
        self._spec = bed.spec
        self._store = RegistryStore(file_io, bed.warehouse, SystemClock())
        self._progress = ProgressStore(file_io, bed.warehouse, SystemClock())
        catalog = Catalog(bed.warehouse, file_io=file_io)
        self._registrar = Registrar(self._store, catalog, SystemClock())
        self.holders = StreamHolders(file_io, bed.warehouse, SystemClock())
        database, name = IDENTIFIER.split(".")
        self._store.put_table(
            TableDocument(database=database, name=name, table=bed.spec), expected_version=None
        )

    def register(
        self, name: str, *, topic: str, trigger_ms: int = TRIGGER_MS, **stream: Any
    ) -> None:
        """Register a stream; it is wanted to run, also if only the order of arrival orders it."""
        interval = {} if "trigger" in stream else {"trigger_ms": trigger_ms}
        definition = StreamDefinition.model_validate(
            {"topic": topic, "partitioned_by_key": True, **interval, **stream}
        )
        spec = complete_stream(self._spec, definition, name=name)
        self._change(name, lambda _: StreamEntry(spec=spec))

    def want(self, name: str, state: DesiredState) -> None:
        """Pause, resume or stop a stream."""
        self._change(name, lambda entry: entry.model_copy(update={"desired_state": state}))

    def alter(self, *changes: Mapping[str, Any]) -> int:
        """Change the table as a request does, and return the id of its schema then."""
        requested = SchemaChanges.model_validate({"changes": changes}).changes
        return self._registrar.alter(IDENTIFIER, plan_changes(requested)).schema_id

    def entry(self, name: str) -> StreamEntry:
        """The stream as it is registered."""
        return self._registrar.entry(IDENTIFIER, name)

    def restart(self, name: str) -> None:
        """Ask for a restart."""
        self._change(
            name,
            lambda entry: entry.model_copy(
                update={"restart_generation": entry.restart_generation + 1}
            ),
        )

    def runners(self) -> list[RunnerProgress]:
        """Read what runners report."""
        return list(self._progress.read_all().runners)

    def wait_for(
        self, name: str, condition: Callable[[StreamProgress], bool], *, runner: str | None = None
    ) -> StreamProgress:
        """Wait until a runner's report of a stream is as expected, and return it."""

        def progress() -> StreamProgress | None:
            reports = [report for report in self.runners() if runner in (None, report.runner)]
            found = newest_report(reports, stream_key(IDENTIFIER, name))
            return None if found is None else found.progress

        def is_so() -> bool:
            seen[:] = [progress()]
            return seen[0] is not None and condition(seen[0])

        seen: list[StreamProgress | None] = [None]
        wait_until(is_so, every_s=0.1, what=lambda: f"stream {name} is not as expected: {seen}")
        assert seen[0] is not None
        return seen[0]

    def _change(self, name: str, change: Callable[[StreamEntry], StreamEntry]) -> None:
        versioned = self._store.table(IDENTIFIER)
        assert versioned is not None
        document = versioned.value
        # A stream that is not there yet has no entry to change.
        entry = change(document.streams.get(name))  # type: ignore[arg-type]
        streams = {**document.streams, name: entry}
        self._store.put_table(
            document.model_copy(update={"streams": streams}), expected_version=versioned.version
        )


def has_read(records: int) -> Callable[[StreamProgress], bool]:
    """Return whether a number of records are committed."""
    return lambda progress: progress.account.records >= records


def is_state(state: StreamState) -> Callable[[StreamProgress], bool]:
    """Return whether a stream is in a state."""
    return lambda progress: progress.state is state


@contextmanager
def running_runner(bed: IngestBed) -> Iterator[None]:
    """Run a runner of this process's session in a thread."""
    settings = RunnerSettings(
        warehouse=bed.warehouse,
        name="inside",
        clusters=KafkaClusters().with_default(bed.broker.bootstrap_servers),
        poll_ms=50,
        progress_ms=100,
    )
    with running_settings(settings, bed.session, bed.directory):
        yield


@contextmanager
def runner_process(bed: IngestBed, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a runner with 512 MB of heap in a process of its own; its log is `<name>.log` in the bed's directory."""
    arguments = [bed.warehouse, name, bed.broker.bootstrap_servers]
    with (bed.directory / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM, *arguments], stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_settings(
    settings: RunnerSettings, session: SparkSession, directory: Path
) -> Iterator[None]:
    """Run a runner in a thread, on a session that is there; checkpoints are made in the directory."""
    clock, file_io = SystemClock(), file_io_for(settings.warehouse)
    context = IngestContext(session=session, cores=2, work_dir=directory / "work", clock=clock)
    starter = IngestStarter(
        context,
        warehouse=settings.warehouse,
        file_io=file_io,
        progress=ProgressStore(file_io, settings.warehouse, SystemClock()),
        clusters=settings.clusters,
    )
    runner = Runner(settings, starter=starter, file_io=file_io, clock=clock)
    stop = threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
