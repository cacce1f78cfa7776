"""Files of the audit log: kept once, found by their names, deleted by the day."""

import pytest

from braid.lake import CorruptData, ManualClock, MemoryFileIO
from braid.registry.store.audit_log import AuditLog, AuditNote, EntryName, day_of
from braid.schemas import Actor, AuditAction, AuditChange, AuditEntry

DAY_MS = 24 * 60 * 60 * 1_000
NOTE = AuditNote(actor=Actor(name="ann"), action=AuditAction.SET_OFFSETS, stream="sales")


def entries(log: AuditLog) -> list[AuditEntry]:
    names = [name for day in log.days() for name in sorted(log.names(day))]
    return [entry for name in names if (entry := log.read(name)) is not None]


def stored(log: AuditLog, clock: ManualClock, table: str = "shop.orders") -> dict[str, object]:
    entry = NOTE.entry(table, time_ms=clock.now_ms(), changes=(), version=3)
    return entry.model_dump(mode="json", exclude_none=True)


@pytest.fixture
def log(file_io: MemoryFileIO, clock: ManualClock) -> AuditLog:
    return AuditLog(file_io, "/w", clock, retention_ms=10 * DAY_MS)


def test_an_entry_is_read_as_it_was_recorded(log: AuditLog, clock: ManualClock) -> None:
    change = AuditChange(pointer="/streams/sales/offsets/0", before=5, after=9)

    log.record(NOTE, "shop.orders", changes=(change,))

    (entry,) = entries(log)
    assert (entry.actor.name, entry.action, entry.stream) == ("ann", "set_offsets", "sales")
    assert (entry.table, entry.version, entry.time_ms) == ("shop.orders", None, clock.now_ms())
    assert entry.changes == (change,)


def test_an_entry_that_is_kept_twice_is_there_once(log: AuditLog, clock: ManualClock) -> None:
    content = stored(log, clock)

    assert log.keep(content) == log.keep(content) == clock.now_ms()

    assert len(entries(log)) == 1


def test_fields_of_newer_versions_are_kept(
    log: AuditLog, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    log.keep({**stored(log, clock), "later": 1})

    (entry,) = entries(log)
    name = EntryName.of(entry)
    path = f"/w/_braid/audit/{name.day}/{name.file_name}"
    assert b'"later":1' in file_io.read_bytes(path)


def test_the_name_of_a_file_says_what_it_was_made_from() -> None:
    name = EntryName(time_ms=1_700_000_000_000, table="shop.orders", version=7, id="ab12")
    without_table = EntryName(time_ms=1, table="", version=0, id="ab12")

    assert name.file_name == "1700000000000-7-ab12-shop.orders.json"
    assert name.day == "2023-11-14"
    assert EntryName.parse(name.file_name) == name
    assert EntryName.parse(without_table.file_name) == without_table


@pytest.mark.parametrize("name", ["", "x.json", "1-2.json", "a-1-b-c.json", "1-a-b-c.json"])
def test_other_files_are_no_entries(name: str) -> None:
    assert EntryName.parse(name) is None


def test_days_of_any_number_are_within_the_calendar() -> None:
    assert [day_of(time_ms) for time_ms in (-(2**63), 0, 2**63)] == [
        "1970-01-01",
        "1970-01-01",
        "9999-12-31",
    ]


def test_whole_days_expire_once_all_of_their_entries_are_too_old(
    log: AuditLog, clock: ManualClock
) -> None:
    log.record(NOTE, "shop.first")
    clock.advance(ms=DAY_MS)
    log.record(NOTE, "shop.second")

    clock.advance(ms=9 * DAY_MS)
    log.record(NOTE, "shop.third")
    half = [entry.table for entry in entries(log)]
    clock.advance(ms=DAY_MS)
    log.record(NOTE, "shop.fourth")

    # The day of the first entry is over, but its last moment is not yet old enough.
    assert half == ["shop.first", "shop.second", "shop.third"]
    assert [entry.table for entry in entries(log)] == ["shop.second", "shop.third", "shop.fourth"]


def test_an_expired_entry_is_not_kept_again(log: AuditLog, clock: ManualClock) -> None:
    content = stored(log, clock)
    clock.advance(ms=11 * DAY_MS)

    log.keep(content)

    assert entries(log) == []


def test_without_a_retention_nothing_expires(file_io: MemoryFileIO, clock: ManualClock) -> None:
    log = AuditLog(file_io, "/w", clock)
    log.record(NOTE, "shop.orders")
    clock.advance(ms=10_000 * DAY_MS)
    log.record(NOTE, "shop.orders")

    log.expire()

    assert len(entries(log)) == 2


def test_a_file_that_is_no_entry_is_damage(
    log: AuditLog, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    name = EntryName(time_ms=clock.now_ms(), table="shop.orders", version=1, id="ab12")
    path = f"/w/_braid/audit/{name.day}/{name.file_name}"
    file_io.write_new(path, b"{}")

    with pytest.raises(CorruptData, match="ab12"):
        log.read(name)
    assert log.read(EntryName(time_ms=1, table="", version=1, id="gone")) is None
