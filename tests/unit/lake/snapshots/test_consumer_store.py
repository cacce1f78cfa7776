"""Consumers on storage."""

import pytest

from braid.lake import InvalidRequest, MemoryFileIO
from braid.lake.errors import CorruptData
from braid.lake.files.paths import TablePaths
from braid.lake.format.consumer import Consumer
from braid.lake.snapshots.consumer_store import LEASE_MS_MAX, ConsumerFile, ConsumerStore
from tests.support.snapshots import given_snapshot

PATHS = TablePaths("/wh/db.db/t")


def test_consumers_are_listed_by_id() -> None:
    file_io = MemoryFileIO()
    store = ConsumerStore(file_io, PATHS)
    assert store.list() == []

    store.put("b", Consumer(next_snapshot=2))
    store.put("a", Consumer(next_snapshot=1))
    store.put("a", Consumer(next_snapshot=3))
    file_io.overwrite(f"{PATHS.consumer_dir}/.consumer-c.tmp", b"rubbish")

    assert [(file.id, file.consumer) for file in store.list()] == [
        ("a", Consumer(next_snapshot=3)),
        ("b", Consumer(next_snapshot=2)),
    ]
    assert store.delete("a")
    assert not store.delete("a")
    assert store.find("a") is None


def test_a_branch_has_consumers_of_its_own() -> None:
    file_io = MemoryFileIO()
    ConsumerStore(file_io, PATHS).put("a", Consumer(next_snapshot=1))

    assert ConsumerStore(file_io, TablePaths(PATHS.root, branch="b")).list() == []


@pytest.mark.parametrize("name", ["", "a/b", " a", "a\n", "../../snapshot/LATEST"])
def test_an_id_is_a_plain_name(name: str) -> None:
    store = ConsumerStore(MemoryFileIO(), PATHS)

    with pytest.raises(InvalidRequest, match="consumer"):
        store.put(name, Consumer(next_snapshot=1))
    with pytest.raises(InvalidRequest, match="consumer"):
        store.delete(name)


@pytest.mark.parametrize("name", ["", " a", "a\n"])
def test_a_file_of_another_program_is_a_consumer_whatever_its_name(name: str) -> None:
    """It may be needed: a name is no reason to expire what it holds, nor to stop expiry."""
    file_io = MemoryFileIO()
    store = ConsumerStore(file_io, PATHS)
    store.put("b", Consumer(next_snapshot=2))
    file_io.overwrite(PATHS.consumer(name), b"")

    foreign, whole = store.list()

    assert (foreign.id, foreign.consumer) == (name, None)
    assert (whole.id, whole.consumer) == ("b", Consumer(next_snapshot=2))
    store.put(name, Consumer(next_snapshot=7))
    assert store.find(name) == Consumer(next_snapshot=7)
    assert store.delete(name)
    assert [file.id for file in store.list()] == ["b"]


UNREADABLE = pytest.mark.parametrize(
    "data", [b"", b'{"nextSna', b"\0\0\0", b"[]", b'{"nextSnapshot": "3"}']
)


@UNREADABLE
def test_an_unreadable_consumer_is_listed_with_the_reason_and_hides_no_other(data: bytes) -> None:
    file_io = MemoryFileIO()
    store = ConsumerStore(file_io, PATHS)
    store.put("b", Consumer(next_snapshot=2))
    file_io.overwrite(PATHS.consumer("a"), data)

    torn, whole = store.list()

    assert (torn.id, torn.consumer, torn.is_lease) == ("a", None, False)
    assert torn.error
    assert PATHS.consumer("a") not in torn.error
    assert (whole.consumer, whole.error) == (Consumer(next_snapshot=2), None)
    with pytest.raises(CorruptData, match="consumer-a"):
        store.find("a")
    store.put("a", Consumer(next_snapshot=3))
    assert store.list()[0].consumer == Consumer(next_snapshot=3)


@pytest.mark.parametrize(
    ("expiration_ms", "lasts_ms"),
    [(None, LEASE_MS_MAX), (2 * LEASE_MS_MAX, LEASE_MS_MAX), (100, 100)],
)
def test_an_unreadable_consumer_counts_for_as_long_as_a_lease_can_last(
    expiration_ms: int | None, lasts_ms: int
) -> None:
    file = ConsumerFile(id="a", consumer=None, modified_ms=1_000, error="torn")

    assert not file.is_expired(now_ms=1_000 + lasts_ms, expiration_ms=expiration_ms)
    assert file.is_expired(now_ms=1_001 + lasts_ms, expiration_ms=expiration_ms)


@UNREADABLE
def test_an_unreadable_mark_marks_nothing_and_goes(data: bytes) -> None:
    file_io = MemoryFileIO()
    store = ConsumerStore(file_io, PATHS)
    file_io.overwrite(PATHS.expiring("dead"), data)
    store.mark_expiring("alive", given_snapshot(1))

    assert store.is_marked_expiring(given_snapshot(1))
    store.delete_stale_marks(before_ms=0)

    assert [status.path for status in file_io.list(PATHS.consumer_dir)] == [PATHS.expiring("alive")]


@pytest.mark.parametrize(
    ("deadline_ms", "expiration_ms", "age_ms", "is_expired"),
    [
        (None, None, 1 << 50, False),
        (None, 100, 100, False),
        (None, 100, 101, True),
        (50, None, 50, False),
        (50, None, 51, True),
        (200, 100, 101, True),  # an engine that knows no deadlines forgets it as well
        (200, 100, 100, False),
    ],
)
def test_when_a_consumer_is_forgotten(
    deadline_ms: int | None, expiration_ms: int | None, age_ms: int, is_expired: bool
) -> None:
    store = ConsumerStore(MemoryFileIO(), PATHS)
    store.put("a", Consumer(next_snapshot=1))
    written_ms = store.list()[0].modified_ms
    if deadline_ms is not None:
        store.put("a", Consumer(next_snapshot=1, deadline_ms=written_ms + deadline_ms))
    (file,) = store.list()
    age = file.modified_ms if deadline_ms is None or expiration_ms else written_ms

    found = file.is_expired(now_ms=age + age_ms, expiration_ms=expiration_ms)

    assert found == is_expired
