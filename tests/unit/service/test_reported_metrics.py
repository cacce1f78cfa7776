"""The documents of tables decide which streams have a state in the metrics, also without a runner or after it has gone."""

import asyncio

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.registry_view import RegistryView
from braid.schemas import (
    DesiredState,
    RunnerProgress,
    StreamEntry,
    StreamProgress,
    StreamState,
    TableDocument,
)
from braid.service.control.lists.recent_reports import RecentReports
from braid.service.reported_metrics import declared_streams, reported_metrics
from tests.unit.registry.shop import definition, orders


def test_streams_without_a_runner_are_waited_for_only_while_they_are_registered_to_run() -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    registry, progress = RegistryStore(file_io, "/w", clock), ProgressStore(file_io, "/w", clock)
    spec = complete_stream(orders(), definition(), name="sales")
    streams = {
        "new": StreamEntry(spec=spec),
        "stopped": StreamEntry(spec=spec, desired_state=DesiredState.STOPPED),
    }
    document = TableDocument(database="shop", name="orders", table=orders(), streams=streams)
    registry.put_table(document, expected_version=None)
    running = StreamProgress(state=StreamState.RUNNING)
    reported = ("shop.orders/stopped", "shop.orders/deleted", "shop.dropped/sales")
    progress.write(
        RunnerProgress(
            runner="r", started_ms=0, updated_ms=0, streams=dict.fromkeys(reported, running)
        )
    )
    clock.advance(ms=60_000)
    view = RegistryView(registry, file_io, "/w")
    declared = declared_streams(view)
    metrics = reported_metrics(
        RecentReports(progress, clock), view, clock, runner_timeout_ms=15_000, declared=declared
    )

    def states() -> dict[str, str]:
        found = {one.name: one.samples for one in metrics.collect()}["braid_stream_state"]
        return {sample.labels["stream"]: sample.labels["state"] for sample in found}

    reports_alone = states()
    asyncio.run(declared.newer())
    registered = states()
    declared.close()

    assert reports_alone == {"stopped": "UNASSIGNED", "deleted": "UNASSIGNED"}
    assert registered == {"new": "UNASSIGNED", "stopped": "STOPPED"}
