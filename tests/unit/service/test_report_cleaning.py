"""Reports of runners that have long been gone are deleted, unless they decide something."""

import pytest

from braid.lake import ManualClock, MemoryFileIO, StorageUnavailable
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.registry_view import RegistryView
from braid.schemas import RunnerProgress, StreamProgress, StreamState, TableDocument
from braid.service.report_cleaning import clean_once
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.registry.shop import orders


def test_only_reports_of_dropped_tables_and_superseded_ones_are_deleted(
    file_io: MemoryFileIO, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    counted = FaultyFileIO(file_io)
    store, progress = RegistryStore(file_io, "/w", clock), ProgressStore(counted, "/w", clock)
    view = RegistryView(store, counted, "/w")
    document = TableDocument(database="shop", name="orders", table=orders())
    store.put_table(document, expected_version=None)
    said = StreamProgress(state=StreamState.STOPPED, epoch=1)
    for runner, key in (("kept", "shop.orders/deleted"), ("old", "shop.dropped/sales")):
        report = RunnerProgress(runner=runner, started_ms=0, updated_ms=0, streams={key: said})
        progress.write(report)
    clock.advance(ms=1_000)

    def fault(*_: object) -> None:
        message = "no answer"
        raise StorageUnavailable(message)

    counted.before = fault
    clean_once(progress, view, retention_ms=1_000)
    counted.before = lambda *_: None
    with caplog.at_level("INFO"):
        clean_once(progress, view, retention_ms=1_000)

    assert [one.runner for one in progress.read_all().runners] == ["kept"]
    assert "cannot be deleted error=no answer" in caplog.text
    assert "was deleted runner=old" in caplog.text
