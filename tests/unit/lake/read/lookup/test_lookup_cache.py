"""The cache of copies: made once, kept while used, evicted and bounded."""

import logging
import pickle
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.system_columns import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND,
    VALUE_KIND_FIELD,
)
from braid.lake.read.lookup.background import Job
from braid.lake.read.lookup.copy_space import CopySpace
from braid.lake.read.lookup.copy_store import EVICTABLE_SECONDS, IDLE_SECONDS, CopyStore
from braid.lake.read.lookup.file_lookup import FileLookup
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.lookup_settings import LookupSettings
from braid.lake.read.lookup.wanted_keys import WantedKeys
from tests.support.waiting import PATIENCE_S

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())])
BIG = 1 << 40


@dataclass(kw_only=True)
class GivenFile:
    """Keys 0..rows-1, and what happened to the file."""

    rows: int = 100
    error: Exception | None = None
    hold: threading.Event | None = None
    reads: list[Sequence[str]] = field(default_factory=list)
    file_size: int = 1_000

    @property
    def row_count(self) -> int:
        return self.rows

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        self.reads.append([name for name in columns if name in SCHEMA.names])
        if self.hold is not None:
            assert self.hold.wait(timeout=PATIENCE_S)
        if self.error is not None:
            raise self.error
        numbers = np.arange(self.rows)
        values = {
            "k": pa.array(numbers),
            "v": pa.array([f"value {number}" for number in numbers]),
            SEQUENCE_NUMBER: pa.array(numbers),
            VALUE_KIND: pa.array(np.zeros(self.rows, np.int8)),
        }
        every = pa.schema([*SCHEMA, SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD])
        schema = pa.schema([every.field(name) for name in columns])
        yield 0, pa.record_batch([values[name] for name in columns], schema=schema)

    def make(self, space: CopySpace) -> FileLookup:
        return FileLookup(self, key_columns=["k"], schema=SCHEMA, space=space)


class ManualSeconds:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-6
        return self.now


class ManualJobs:
    """Jobs that run when the test says so."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> None:
        self.jobs.append(job)

    def run(self) -> int:
        count = len(self.jobs)
        while self.jobs:
            self.jobs.pop(0)()
        return count


@dataclass(kw_only=True)
class Given:
    """A store, and what moves it."""

    disk: int = BIG
    memory: int = BIG
    directory: Path | None = None
    seconds: ManualSeconds = field(default_factory=ManualSeconds)
    jobs: ManualJobs = field(default_factory=ManualJobs)

    def __post_init__(self) -> None:
        settings = LookupSettings(
            directory=None if self.directory is None else str(self.directory),
            max_disk_bytes=self.disk,
            max_memory_bytes=self.memory,
        )
        self.store = CopyStore(settings, seconds=self.seconds, submit=self.jobs)

    def cache(
        self,
        table: str = "t",
        *,
        disk: int = BIG,
        memory: int = BIG,
        idle_seconds: float = IDLE_SECONDS,
    ) -> LookupCache:
        return LookupCache(
            self.store,
            table,
            max_disk_bytes=disk,
            max_memory_bytes=memory,
            idle_seconds=idle_seconds,
        )


def value(lookup: FileLookup, key: int) -> list[str]:
    keys = WantedKeys(columns=(pa.array([key], pa.int64()),))
    positions = lookup.find(keys, np.arange(1))
    if positions[0] < 0:
        return []
    found: list[str] = lookup.take(positions, ["v"]).column("v").to_pylist()
    return found


def ask(cache: LookupCache, name: str, file: GivenFile, key: int = 7) -> list[str] | None:
    """Return the value of a key; None where there is no room for a copy."""
    lookup = cache.get(name)
    if lookup is None or not lookup.has_columns(["v"]):
        lookup = cache.get_or_copy(name, file.make, ["v"])
    return None if lookup is None else value(lookup, key)


def size_of_one(*, on_disk: bool, rows: int = 100) -> int:
    given = Given()
    cache = given.cache(memory=0 if on_disk else BIG)
    ask(cache, "a", GivenFile(rows=rows))
    size = cache.disk_bytes if on_disk else cache.memory_bytes
    given.store.close()
    return size


def on_disk(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.suffix in (".arrow", ".index")]


@pytest.mark.parametrize("memory", [0, BIG])
def test_a_file_is_read_once_by_columns(memory: int) -> None:
    given = Given()
    cache = given.cache(memory=memory)
    file = GivenFile()

    assert [ask(cache, "f", file, key) for key in (7, 8, 100)] == [["value 7"], ["value 8"], []]

    assert file.reads == [["k"], ["v"]]
    assert (cache.memory_bytes > 0) == (memory > 0)
    assert (cache.disk_bytes > 0) == (memory == 0)
    given.store.close()


def test_a_file_that_is_large_once_decoded_is_kept_on_disk(tmp_path: Path) -> None:
    given = Given(directory=tmp_path)
    cache = given.cache()

    ask(cache, "small", GivenFile(rows=1_000))
    assert list(tmp_path.iterdir()) == []
    in_memory = cache.memory_bytes
    ask(cache, "large", GivenFile(rows=300_000, file_size=1))

    assert cache.memory_bytes == in_memory > 0
    assert cache.disk_bytes > 300_000 * 12
    kept = sum(path.stat().st_size for path in on_disk(tmp_path))
    assert cache.disk_bytes <= kept < cache.disk_bytes * 1.05
    given.store.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_files_beyond_the_memory_bound_are_kept_on_disk_and_read_once() -> None:
    given = Given()
    cache = given.cache(memory=2 * size_of_one(on_disk=False))
    files = {name: GivenFile() for name in "abcd"}

    for _ in range(3):
        for name in "abcd":
            assert ask(cache, name, files[name]) == ["value 7"]

    assert all(file.reads == [["k"], ["v"]] for file in files.values())
    assert 0 < cache.memory_bytes <= cache.max_memory_bytes
    assert cache.disk_bytes > 0
    given.store.close()


def test_beyond_the_disk_bound_used_copies_stay_and_no_others_are_made() -> None:
    given = Given()
    cache = given.cache(memory=0, disk=3 * size_of_one(on_disk=True) + 1)
    files = {name: GivenFile() for name in "abcd"}

    answers = [[ask(cache, name, files[name]) for name in "abcd"] for _ in range(3)]

    assert answers == [[["value 7"]] * 3 + [None]] * 3
    assert [len(files[name].reads) for name in "abc"] == [2, 2, 2]
    assert len(files["d"].reads) <= 2, "it is not tried again while there is no room"
    assert cache.disk_bytes <= cache.max_disk_bytes
    given.store.close()


def test_a_copy_that_was_not_used_for_a_minute_is_evicted_for_another(tmp_path: Path) -> None:
    given = Given(directory=tmp_path)
    cache = given.cache(memory=0, disk=3 * size_of_one(on_disk=True) + 1)
    for name in "abc":
        ask(cache, name, GivenFile())
    given.seconds.now += EVICTABLE_SECONDS + 1
    for name in "ac":
        assert cache.get(name) is not None

    assert ask(cache, "d", GivenFile()) == ["value 7"]

    assert [name for name in "abcd" if cache.get(name)] == ["a", "c", "d"]
    assert len(on_disk(tmp_path)) == 9, "keys, values and index of each"
    given.store.close()


def test_a_file_larger_than_the_bound_evicts_nothing() -> None:
    given = Given()
    cache = given.cache(memory=0, disk=3 * size_of_one(on_disk=True))
    ask(cache, "a", GivenFile())
    given.seconds.now += EVICTABLE_SECONDS + 1

    assert ask(cache, "large", GivenFile(rows=10_000)) is None

    assert cache.get("a") is not None
    given.store.close()


def test_rows_stay_readable_after_their_copy_was_removed() -> None:
    given = Given()
    cache = given.cache(memory=0)
    lookup = cache.get_or_copy("f", GivenFile().make, ["v"])
    assert lookup is not None
    rows = lookup.take(np.array([5, 6]), ["v"])
    one = lookup.take(np.array([5]), ["v"])

    given.seconds.now += IDLE_SECONDS + 1
    given.store.evict_idle()

    assert cache.get("f") is None
    assert cache.disk_bytes == 0
    assert rows.column("v").to_pylist() == ["value 5", "value 6"]
    assert one.column("v").to_pylist() == ["value 5"]
    assert value(lookup, 9) == ["value 9"], "what is mapped stays readable"
    given.store.close()


def test_a_copy_that_was_not_used_for_an_hour_is_removed_by_any_lookup() -> None:
    given = Given()
    first, second = given.cache("one"), given.cache("other")
    for name in "ab":
        ask(first, name, GivenFile())
    given.seconds.now += IDLE_SECONDS / 2
    assert first.get("b") is not None
    given.seconds.now += IDLE_SECONDS * 0.6

    ask(second, "c", GivenFile())

    assert [name for name in "abc" if given.store.find(name)] == ["b", "c"]


def test_the_idle_time_is_that_of_the_table() -> None:
    given = Given()
    cache = given.cache(idle_seconds=10)
    ask(cache, "f", GivenFile())
    given.seconds.now += 9
    assert cache.get("f") is not None
    given.seconds.now += 11

    assert cache.get("another") is None

    assert cache.memory_bytes == 0


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_tables_share_the_bounds_of_their_store(*, is_on_disk: bool) -> None:
    two = 2 * size_of_one(on_disk=is_on_disk)
    given = Given(disk=two if is_on_disk else 0, memory=0 if is_on_disk else two)
    first, second = given.cache("one"), given.cache("other")

    assert ask(first, "a", GivenFile()) == ask(second, "b", GivenFile()) == ["value 7"]
    assert ask(second, "c", GivenFile()) is None
    given.seconds.now += EVICTABLE_SECONDS + 1
    assert second.get("b") is not None
    assert ask(second, "c", GivenFile()) == ["value 7"]

    assert first.get("a") is None
    assert first.memory_bytes == first.disk_bytes == 0
    assert second.memory_bytes + second.disk_bytes == two
    given.store.close()


def test_a_reopened_table_uses_the_same_copies() -> None:
    given = Given()
    ask(given.cache(), "f", GivenFile())

    again = given.cache()

    assert again.get("f") is not None
    assert again.memory_bytes > 0


def test_another_process_has_copies_of_its_own_within_the_same_bounds() -> None:
    store = pickle.loads(pickle.dumps(CopyStore(LookupSettings(max_memory_bytes=8))))

    assert store.max_memory_bytes == 8


def test_a_copy_is_made_in_the_background_when_a_quarter_of_the_file_was_read() -> None:
    given = Given()
    cache = given.cache()
    file = GivenFile(rows=1_000)
    made = []

    for _ in range(4):
        cache.record_read("f", file.make, ["v"], of_rows=1_000, rows=100, size=800)
        made.append(given.jobs.run())
    lookup = cache.get("f")

    assert made == [0, 0, 1, 0]
    assert lookup is not None
    assert value(lookup, 7) == ["value 7"]
    assert file.reads == [["k"], ["v"]]


def test_a_queued_copy_is_not_queued_again() -> None:
    given = Given()
    cache = given.cache()
    file = GivenFile()

    for _ in range(20):
        cache.record_read("f", file.make, ["v"], of_rows=100, rows=100, size=800)

    assert given.jobs.run() == 1


def test_row_groups_are_read_where_there_is_no_room_for_a_copy() -> None:
    given = Given()
    cache = given.cache(memory=0, disk=10_000)
    file = GivenFile(rows=1_000)

    for _ in range(20):
        cache.record_read("f", file.make, ["v"], of_rows=1_000, rows=100, size=1_200)
        given.jobs.run()

    assert file.reads == [], "what was read says how large the copy would be"
    assert cache.disk_bytes == 0


def test_a_failed_background_copy_is_tried_again() -> None:
    given = Given()
    cache = given.cache()
    file = GivenFile(error=CorruptData("broken"))
    cache.record_read("f", file.make, ["v"], of_rows=100, rows=100, size=800)
    assert given.jobs.run() == 1
    assert cache.get("f") is None
    file.error = None

    cache.record_read("f", file.make, ["v"], of_rows=100, rows=100, size=800)

    assert given.jobs.run() == 1
    assert cache.get("f") is not None


def test_concurrent_lookups_copy_a_file_once() -> None:
    cache = Given().cache()
    hold = threading.Event()
    file = GivenFile(hold=hold)

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(ask, cache, "f", file, key) for key in range(8)]
        hold.set()

        assert [answer.result() for answer in answers] == [[f"value {key}"] for key in range(8)]

    assert file.reads == [["k"], ["v"]]


def test_copying_one_file_does_not_block_lookups_of_others() -> None:
    given = Given()
    cache = given.cache(memory=0)
    warm, next_one = GivenFile(), GivenFile()
    ask(cache, "warm", warm)
    hold = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        cold = pool.submit(ask, cache, "cold", GivenFile(hold=hold))

        assert ask(cache, "warm", warm) == ["value 7"]
        assert ask(cache, "next", next_one) == ["value 7"]
        assert cache.get("cold") is None
        assert not cold.done()

        hold.set()
        assert cold.result() == ["value 7"]
    given.store.close()


def test_a_file_that_could_not_be_read_is_read_again_and_leaves_no_parts(tmp_path: Path) -> None:
    given = Given(directory=tmp_path)
    cache = given.cache(memory=0)
    file = GivenFile(error=CorruptData("broken"))

    with pytest.raises(CorruptData):
        ask(cache, "f", file)
    assert cache.get("f") is None
    assert on_disk(tmp_path) == []
    assert cache.disk_bytes == 0
    file.error = None

    assert ask(cache, "f", file) == ["value 7"]
    given.store.close()


def test_a_full_disk_leaves_a_file_without_a_copy_until_it_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    given = Given(directory=tmp_path)
    cache = given.cache(memory=0)
    ask(cache, "first", GivenFile())
    (directory,) = (path for path in tmp_path.glob("*/*") if path.is_dir())
    away = directory.rename(tmp_path / "away")
    file = GivenFile()

    assert ask(cache, "f", file) is None
    away.rename(directory)
    assert ask(cache, "f", file) is None
    assert file.reads == [["k"]], "a disk that refuses is not tried for each key"
    given.seconds.now += EVICTABLE_SECONDS

    assert ask(cache, "f", file) == ["value 7"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    given.store.close()


def test_threads_that_exceed_the_bounds_get_correct_rows() -> None:
    given = Given()
    cache = given.cache(memory=0, disk=20_000)
    files = {f"f{number}": GivenFile(rows=50 + number) for number in range(12)}

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(60):
            number, key = int(random.integers(12)), int(random.integers(70))
            expected = [f"value {key}"] if key < 50 + number else []
            # Copies give way all the time.
            given.seconds.now += EVICTABLE_SECONDS / 4
            assert ask(cache, f"f{number}", files[f"f{number}"], key) in (expected, None)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert 0 < cache.disk_bytes <= 20_000
    given.store.close()
