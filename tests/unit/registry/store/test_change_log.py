"""Counted changes of documents."""

import threading

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.change_log import CHANGES_AT_ONCE, KEPT_CHANGES, ChangeLog, Changes
from tests.support.faulty_file_io import FaultyFileIO

DIRECTORY = "/w/_braid/changes"


@pytest.fixture
def log(file_io: MemoryFileIO, clock: ManualClock) -> ChangeLog:
    return ChangeLog(file_io, "/w", clock)


def changes(position: int, *tables: str) -> Changes:
    return Changes(position=position, tables=frozenset(tables))


def unknown(position: int) -> Changes:
    return Changes(position=position, tables=None)


def test_a_warehouse_without_changes_is_at_zero(log: ChangeLog) -> None:
    assert log.newest() == 0
    assert log.since(0, checks_position=True) == changes(0)


def test_changes_after_a_position_are_those_that_were_appended_later(log: ChangeLog) -> None:
    log.append(["shop.orders"])
    position = log.newest()
    log.append(["shop.items", "shop.returns"])
    log.append(["shop.items"])

    assert log.since(position, checks_position=False) == changes(3, "shop.items", "shop.returns")
    assert log.since(3, checks_position=True) == changes(3)


def test_a_look_at_no_change_is_one_request(file_io: MemoryFileIO, clock: ManualClock) -> None:
    counted = FaultyFileIO(file_io)
    log = ChangeLog(counted, "/w", clock)
    log.append(["shop.orders"])
    counted.calls.clear()

    log.since(1, checks_position=False)

    assert counted.calls == [("read_bytes", f"{DIRECTORY}/00000000000000000002.json")]


def test_concurrent_writers_lose_no_change(file_io: MemoryFileIO, clock: ManualClock) -> None:
    """Each has a log of its own, as processes have."""
    names = [f"shop.t{number}" for number in range(12)]
    logs = [ChangeLog(file_io, "/w", clock) for _ in names]
    writers = [
        threading.Thread(target=log.append, args=([name],))
        for log, name in zip(logs, names, strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert logs[0].since(0, checks_position=False) == changes(len(names), *names)


def test_old_changes_are_deleted_and_their_readers_are_told(
    log: ChangeLog, file_io: MemoryFileIO
) -> None:
    log.append(["shop.orders"])
    for _ in range(KEPT_CHANGES + 2):
        log.append(["shop.items"])

    assert len(file_io.list(DIRECTORY)) <= KEPT_CHANGES + 1
    assert log.since(1, checks_position=True) == unknown(1)
    assert log.since(0, checks_position=True) == unknown(0)
    assert log.since(log.newest() - 1, checks_position=True) == changes(log.newest(), "shop.items")


def test_a_reader_that_missed_many_changes_is_told_instead(log: ChangeLog) -> None:
    for number in range(CHANGES_AT_ONCE):
        log.append([f"shop.t{number}"])

    assert log.since(0, checks_position=False).tables is None
    assert log.since(1, checks_position=False).tables is not None


def test_a_reader_from_before_a_restored_backup_is_told(log: ChangeLog) -> None:
    """The warehouse has fewer changes than the reader knows."""
    log.append(["shop.orders"])

    assert log.since(40, checks_position=True) == unknown(40)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"tables": 3}'])
def test_a_change_that_cannot_be_read_may_be_one_of_any_table(
    log: ChangeLog, file_io: MemoryFileIO, data: bytes
) -> None:
    file_io.write_new(f"{DIRECTORY}/00000000000000000001.json", data)

    assert log.since(0, checks_position=False) == unknown(0)


def test_a_change_of_a_newer_version_is_read(log: ChangeLog, file_io: MemoryFileIO) -> None:
    data = b'{"tables": ["shop.orders"], "kind": "new"}'
    file_io.write_new(f"{DIRECTORY}/00000000000000000001.json", data)

    assert log.since(0, checks_position=False) == changes(1, "shop.orders")
