"""What runners report."""

import pytest

from lake import CorruptData, MemoryFileIO
from registry.progress import ProgressStore, newest_report, stream_key
from schemas import RunnerProgress, StreamProgress, StreamState

KEY = stream_key("shop.orders", "pay")


def progress(runner: str, *, updated_ms: int, epoch: int | None = None) -> RunnerProgress:
    said = StreamProgress(state=StreamState.RUNNING, epoch=epoch)
    return RunnerProgress(runner=runner, started_ms=0, updated_ms=updated_ms, streams={KEY: said})


@pytest.fixture
def store(file_io: MemoryFileIO) -> ProgressStore:
    return ProgressStore(file_io, "/w")


def test_a_warehouse_without_runners_has_no_progress(store: ProgressStore) -> None:
    assert store.read_all() == []


def test_the_last_word_of_each_runner_is_read(store: ProgressStore) -> None:
    store.write(progress("r2", updated_ms=1))
    store.write(progress("r1", updated_ms=1))
    store.write(progress("r1", updated_ms=5))

    assert store.read_all() == [progress("r1", updated_ms=5), progress("r2", updated_ms=1)]


def test_an_unreadable_document_is_named(store: ProgressStore, file_io: MemoryFileIO) -> None:
    file_io.overwrite("/w/_braid/runners/r1.json", b"{")

    with pytest.raises(CorruptData, match=r"runners/r1\.json"):
        store.read_all()


def test_of_two_reports_the_higher_epoch_counts_before_the_later_word() -> None:
    runners = [
        progress("old", updated_ms=9, epoch=3),
        progress("new", updated_ms=5, epoch=4),
        progress("slow", updated_ms=4, epoch=4),
    ]

    report = newest_report(runners, KEY)

    assert report is not None
    assert report.runner == "new"
    assert newest_report(runners, "shop.orders/ship") is None
