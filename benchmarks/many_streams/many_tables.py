"""Warehouse of many tables: ten streams each, registered but for a few not running, and the reports of their runners."""

from typing import Final

from braid.lake import Clock, FileIO
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore, stream_key
from braid.schemas import (
    DesiredState,
    RunnerProgress,
    StreamDefinition,
    StreamEntry,
    StreamProgress,
    StreamState,
    TableDocument,
    TableSpec,
)

STREAMS_PER_TABLE: Final = 10
RUNNING: Final = 20
_COLUMNS_PER_STREAM: Final = 4
_GONE_RUNNERS: Final = 5


def fill(
    file_io: FileIO, warehouse: str, clock: Clock, *, streams: int, running: int = RUNNING
) -> list[str]:
    """Register the streams, of which the first are to run, and return the keys of all.

    The tables themselves are not created: nobody looks at them before a stream runs.
    """
    store = RegistryStore(file_io, warehouse, clock)
    spec = _spec()
    names = [f"s{number}" for number in range(STREAMS_PER_TABLE)]
    completed = {
        name: complete_stream(
            spec,
            StreamDefinition.model_validate({"topic": name, "partitioned_by_key": True}),
            name=name,
        )
        for name in names
    }
    keys = []
    for number in range(streams // STREAMS_PER_TABLE):
        identifier = f"bench.t{number:04d}"
        keys += [stream_key(identifier, name) for name in names]
        entries = {
            name: StreamEntry(
                spec=completed[name],
                desired_state=DesiredState.STOPPED if len(keys) > running else DesiredState.RUNNING,
            )
            for name in names
        }
        document = TableDocument(
            database="bench", name=f"t{number:04d}", table=spec, streams=entries
        )
        store.put_table(document, expected_version=None)
    for number in range(_GONE_RUNNERS):
        report = _report(f"gone-{number}", keys[number::_GONE_RUNNERS], epoch=1, now_ms=0)
        ProgressStore(file_io, warehouse, clock).write(report)
    return keys


def report_running(file_io: FileIO, warehouse: str, clock: Clock, keys: list[str]) -> None:
    """Write the report of the runner that has the running streams."""
    report = _report("busy", keys[:RUNNING], epoch=2, now_ms=clock.now_ms())
    ProgressStore(file_io, warehouse, clock).write(report)


def _report(runner: str, keys: list[str], *, epoch: int, now_ms: int) -> RunnerProgress:
    said = StreamProgress(
        state=StreamState.RUNNING,
        epoch=epoch,
        offsets=dict.fromkeys(range(4), 1000),
        end_offsets=dict.fromkeys(range(4), 1010),
        broker_reached_ms=now_ms,
        lag_records=40,
        lag_seconds=1.5,
        last_commit_ms=now_ms,
    )
    return RunnerProgress(
        runner=runner, started_ms=0, updated_ms=now_ms, streams=dict.fromkeys(keys, said)
    )


def _spec() -> TableSpec:
    groups = {
        f"s{stream}": [f"s{stream}_{number}" for number in range(_COLUMNS_PER_STREAM)]
        for stream in range(STREAMS_PER_TABLE)
    }
    columns = [{"name": "id", "type": "BIGINT"}]
    columns += [{"name": name, "type": "STRING"} for names in groups.values() for name in names]
    return TableSpec.model_validate(
        {
            "columns": columns,
            "primary_key": ["id"],
            "sequence_groups": [
                {"name": group, "columns": names} for group, names in groups.items()
            ],
        }
    )
