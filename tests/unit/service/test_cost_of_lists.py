"""What lists, statuses and metrics ask of storage does not grow with the number of tables and streams."""

from collections import Counter

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore, stream_key
from braid.schemas import (
    RunnerProgress,
    StreamEntry,
    StreamProgress,
    StreamState,
    TableDocument,
)
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.registry.shop import definition, orders
from tests.unit.service.http_client import HttpClient

STREAMS = ("sales", "payments", "shipping")
LISTS = (
    "/v1/streams?expand=status&page_size=1000",
    "/v1/streams?sort=-lag",
    "/v1/tables?expand=status&page_size=1000",
    "/v1/declarations?page_size=500",
    "/v1/runners",
    "/metrics",
)


def calls_of_lists(tables: int) -> list[Counter[str]]:
    """Return the calls to storage of each list, by method, when every list was requested before."""
    clock = ManualClock()
    file_io = FaultyFileIO(MemoryFileIO(clock=clock))
    store = RegistryStore(file_io, "/w", clock)
    spec = orders()
    specs = {name: complete_stream(spec, definition(name), name=name) for name in STREAMS}
    streams = {name: StreamEntry(spec=one) for name, one in specs.items()}
    names = [f"t{number}" for number in range(tables)]
    for name in names:
        document = TableDocument(database="shop", name=name, table=spec, streams=streams)
        store.put_table(document, expected_version=None)
    running = StreamProgress(state=StreamState.RUNNING, lag_records=7)
    keys = [stream_key(f"shop.{name}", stream) for name in names for stream in STREAMS]
    ProgressStore(file_io, "/w", clock).write(
        RunnerProgress(runner="r", started_ms=0, updated_ms=0, streams=dict.fromkeys(keys, running))
    )
    client = HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock))
    found: list[Counter[str]] = []
    for _ in range(2):
        found = []
        for target in LISTS:
            clock.advance(ms=2_000)  # so that reports are looked at again
            file_io.calls.clear()
            client.get(target).raise_for_status()
            found.append(Counter(method for method, _ in file_io.calls))
    return found


def test_a_list_takes_a_look_at_changes_and_one_at_reports_however_many_tables_there_are() -> None:
    """A few calls more if much time has passed: a report is read again, all versions are listed."""
    assert max(calls.total() for calls in calls_of_lists(40)) <= 6
