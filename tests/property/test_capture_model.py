"""The model of a database that makes change events is itself right, and its events have what makes them hard."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain, pairwise
from typing import Any, TypeAlias

import pytest

from tests.support.captured_postgres.record import read
from tests.support.change_capture.change_capture import (
    MYSQL,
    POSTGRESQL,
    ChangeCapture,
)
from tests.support.change_capture.change_event import UNAVAILABLE, ChangeEvent
from tests.support.change_capture.database import Operation
from tests.support.change_capture.log_places import MysqlPlaces, PostgresPlaces
from tests.support.change_capture.newest_rows import NewestRow, NewestRows
from tests.support.change_capture.source_table import SourceTable, is_large
from tests.support.change_capture.topic import KafkaRecord

DATABASES: dict[str, tuple[type[PostgresPlaces | MysqlPlaces], tuple[SourceTable, ...]]] = {
    "postgresql": (PostgresPlaces, POSTGRESQL),
    "mysql": (MysqlPlaces, MYSQL),
}
SEEDS = (1, 2, 3)
Order: TypeAlias = Callable[[ChangeEvent], Any]
EACH = pytest.mark.parametrize("database", DATABASES)
EACH_SEED = pytest.mark.parametrize("seed", SEEDS)


def given_capture(database: str, seed: int, **more: Any) -> ChangeCapture:
    """Return a small database with its connector."""
    places, tables = DATABASES[database]
    given = {"keys": 60, "events": 3_000} | more
    return ChangeCapture(seed, places=places, tables=tables, **given)


@cache
def events_of(database: str, seed: int) -> tuple[ChangeCapture, tuple[ChangeEvent, ...]]:
    """Return all events in the order in which they are sent for the first time, or again."""
    capture = given_capture(database, seed)
    return capture, tuple(capture.events())


def postgres_order(event: ChangeEvent) -> Any:
    """Return the last commit, which is the place itself behind a snapshot, and then the phase."""
    return event.last_commit or event.place, _is_log(event), event.place


def mysql_order(event: ChangeEvent) -> Any:
    """Return file and position, then the phase."""
    return event.place[:2], _is_log(event), event.place


ORDERS: dict[str, Order] = {"postgresql": postgres_order, "mysql": mysql_order}


def rows_by(order: Order, events: Iterable[ChangeEvent]) -> dict[int, NewestRow]:
    """Return the rows of some events in an order of its own; of equals the one that is sent last counts."""
    rows = NewestRows()
    for number, event in enumerate(sorted(events, key=order)):
        rows.add(event._replace(moment=(number, 0)))
    return rows.rows()


@EACH
@EACH_SEED
def test_the_newest_rows_of_the_events_are_those_of_the_database(database: str, seed: int) -> None:
    """Apart from what no event says: values never sent under a key, and deletes while the offset was lost."""
    capture, _ = events_of(database, seed)

    for index, committed in enumerate(capture.database.committed):
        newest = capture.rows(index)
        for key, row in committed.items():
            found = newest[key]
            assert found is not None
            for value, expected in zip(found, row, strict=True):
                assert value == expected or (value is None and is_large(expected))
    assert not capture.database.log


@EACH
@EACH_SEED
def test_places_tell_the_newest_rows(database: str, seed: int) -> None:
    """A read comes before a change at its place. Reads beside the stream may come before older changes, which are sent."""
    capture, events = events_of(database, seed)

    for index in range(len(capture.tables)):
        sent = [event for event in events if event.change.table == index]
        assert rows_by(ORDERS[database], sent) == capture.rows(index)


@pytest.mark.parametrize(
    "order",
    [lambda event: event.place, lambda event: event.last_commit or (0,)],
    ids=["lsn", "commit"],
)
def test_an_lsn_alone_and_a_last_commit_alone_do_not_tell_them(order: Order) -> None:
    assert any(
        rows_by(order, [event for event in events if event.change.table == 0]) != capture.rows(0)
        for capture, events in (events_of("postgresql", seed) for seed in SEEDS)
    )


def test_no_place_tells_changes_of_the_first_transaction_behind_a_snapshot_from_older_ones() -> (
    None
):
    """If it has made them before the snapshot: a limit of what events say, which the model leaves out unless asked."""
    wrong = 0
    for seed in range(5):
        capture = given_capture("postgresql", seed, keys=20, events=150, leaves_first_open=True)
        events = tuple(event for event in capture.events() if event.change.table == 0)
        wrong += rows_by(postgres_order, events) != capture.rows(0)

    assert wrong > 0


@EACH
def test_events_have_what_makes_them_hard(database: str) -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        _, events = events_of(database, seed)
        for sent in _by_key(events):
            moments = [event.moment for event in sent]
            seen["sent again"] += len(moments) != len(set(moments))
            for earlier, later in pairwise(sent):
                is_read = later.change.operation is Operation.READ
                seen["equal place"] += (
                    earlier.place == later.place and earlier.moment < later.moment
                )
                seen["older change behind a read"] += (
                    earlier.moment > later.moment and earlier.snapshot in ("true", "first", "last")
                )
                seen["new snapshot"] += is_read and later.snapshot == "true"
                seen["chunk"] += is_read and later.snapshot == "incremental"
        seen["unavailable"] += sum(bool(event.change.unavailable) for event in events)
        seen["key changed"] += sum(event.change.other_key is not None for event in events)
        seen["unavailable under a new key"] += sum(
            bool(event.change.unavailable) and event.change.operation is Operation.CREATE
            for event in events
        )

    is_postgresql = database == "postgresql"
    assert not (
        {
            "sent again",
            "older change behind a read",
            "new snapshot",
            "chunk",
            "key changed",
            *(
                ("equal place", "unavailable", "unavailable under a new key")
                if is_postgresql
                else ()
            ),
        }
        - {name for name, count in seen.items() if count}
    )


@EACH
def test_records_are_in_partitions_by_key_and_tombstones_are_lost_and_repeated(
    database: str,
) -> None:
    ends: dict[tuple[int, int], int] = {}
    partitions: dict[tuple[int, bytes], int] = {}
    seen: Counter[str] = Counter()
    behind: dict[tuple[int, bytes], str | None] = {}
    for record in given_capture(database, 1).records():
        end = ends.get((record.table, record.partition), -1)
        assert record.offset > end
        ends[record.table, record.partition] = record.offset
        key = record.table, record.key
        assert partitions.setdefault(key, record.partition) == record.partition
        if record.value is None:
            seen["tombstone behind its delete" if behind.get(key) == "d" else "late tombstone"] += 1
            behind[key] = None
        else:
            seen["lost tombstone"] += behind.get(key) == "d"
            behind[key] = _message(record)["op"]

    assert all(
        seen[name] for name in ("tombstone behind its delete", "late tombstone", "lost tombstone")
    )


def test_a_seed_always_makes_the_same_records() -> None:
    first, second = (tuple(given_capture("postgresql", 7).records()) for _ in range(2))

    assert first == second


def test_messages_are_those_of_debezium() -> None:
    """Beside the recorded events of a real server: the same kinds of messages, with the same fields."""
    made = {}
    for record in chain(*(given_capture("postgresql", seed).records() for seed in SEEDS)):
        if record.value is not None and record.table == 0:
            message = _message(record)
            made[_kind(message, (name for name, _ in record.headers))] = record.key, message

    found = {}
    for event in read("postgresql"):
        if event.value is not None and event.topic == "shop.public.parts":
            message = json.loads(event.value)
            headers = (name for name in event.headers if "context" not in name)
            found[_kind(message, headers)] = event.key, message

    assert len(found) > 4
    assert found.keys() <= made.keys()
    for kind, (key, message) in found.items():
        made_key, made_message = made[kind]
        assert json.loads(made_key).keys() == json.loads(key or "").keys()
        assert made_message.keys() <= message.keys()
        assert made_message["source"].keys() <= message["source"].keys()
        assert _shape(made_message) == _shape(message)


def _kind(message: dict[str, Any], headers: Iterable[str]) -> Any:
    """Tell kinds of messages apart: by operation, phase, headers, and whether there are unavailable values."""
    snapshot = message["source"]["snapshot"]
    is_read = snapshot not in ("false", "incremental")
    values = (message["after"] or {}).values()
    has_unavailable = any(UNAVAILABLE in str(value) for value in values)
    return message["op"], "read" if is_read else snapshot, tuple(headers), has_unavailable


def _shape(message: dict[str, Any]) -> Any:
    """Return which parts are there, and whether the old row is the key alone."""
    before, after = message["before"], message["after"]
    is_key_alone = before is not None and all(
        value is None for name, value in before.items() if name != "id"
    )
    has_lsn = message["source"]["lsn"] is not None
    return before is None, after is None, is_key_alone, has_lsn


def test_a_row_with_a_new_key_has_no_value_that_was_not_sent_under_it() -> None:
    events = events_of("postgresql", 1)[1]
    moved = next(
        event
        for event in events
        if event.change.unavailable and event.change.operation is Operation.CREATE
    )
    rows = NewestRows()
    rows.add(moved)

    found = rows.rows()[moved.change.key]

    assert found is not None
    assert moved.change.after is not None
    assert [found[place] for place in moved.change.unavailable] == [None] * len(
        moved.change.unavailable
    )


def _is_log(event: ChangeEvent) -> bool:
    return event.snapshot == "false"


def _by_key(events: tuple[ChangeEvent, ...]) -> list[list[ChangeEvent]]:
    sent: dict[tuple[int, int], list[ChangeEvent]] = defaultdict(list)
    for event in events:
        sent[event.change.table, event.change.key].append(event)
    return list(sent.values())


def _message(record: KafkaRecord) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(record.value or b"{}")
    return message
