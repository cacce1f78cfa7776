"""Consumers on storage."""

import pytest

from lake import InvalidRequest, MemoryFileIO
from lake.errors import CorruptData
from lake.files.paths import TablePaths
from lake.format.consumer import Consumer
from lake.snapshots.consumer_store import ConsumerStore

PATHS = TablePaths("/wh/db.db/t")


def test_consumers_are_listed_by_id() -> None:
    file_io = MemoryFileIO()
    store = ConsumerStore(file_io, PATHS)
    assert store.list() == []

    store.put("b", Consumer(next_snapshot=2))
    store.put("a", Consumer(next_snapshot=1))
    store.put("a", Consumer(next_snapshot=3))
    file_io.overwrite(f"{PATHS.consumer_dir}/.consumer-c.tmp", b"rubbish")

    assert [(file.id, file.consumer.next_snapshot) for file in store.list()] == [("a", 3), ("b", 2)]
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


def test_a_torn_file_is_damage_and_never_nobody() -> None:
    file_io = MemoryFileIO()
    file_io.overwrite(PATHS.consumer("a"), b'{"nextSna')

    with pytest.raises(CorruptData, match="consumer-a"):
        ConsumerStore(file_io, PATHS).list()


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
