"""Files are made ready once, stay while they are held, and go in the order of their use."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lake.errors import CorruptData, StorageUnavailable
from lake.files.scratch import ScratchDirectory
from lake.format.system_columns import SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD
from lake.read.lookup.file_lookup import FileLookup
from lake.read.lookup.lookup_cache import IDLE_SECONDS, LookupCache, MakeLookup
from lake.read.lookup.wanted_keys import Rows, WantedKeys

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())])
BIG = 1 << 40


@dataclass(kw_only=True)
class GivenFile:
    """Keys 0..rows-1, and what happened to the file."""

    rows: int = 100
    part_rows: int = BIG
    error: Exception | None = None
    hold: threading.Event | None = None
    reads: list[Sequence[str]] = field(default_factory=list)
    file_size: int = 1_000

    def batches(self, columns: Sequence[str], *, batch_bytes: int) -> Iterator[pa.RecordBatch]:
        self.reads.append(columns)
        if self.hold is not None:
            assert self.hold.wait(timeout=30)
        if self.error is not None:
            raise self.error
        numbers = np.arange(self.rows)
        values = {"k": pa.array(numbers), "v": pa.array([f"value {number}" for number in numbers])}
        records = [pa.array(numbers), pa.array(np.zeros(self.rows, np.int8))]
        fields = [
            SEQUENCE_NUMBER_FIELD,
            VALUE_KIND_FIELD,
            *(SCHEMA.field(name) for name in columns),
        ]
        yield pa.record_batch(
            [*records, *(values[name] for name in columns)], schema=pa.schema(fields)
        )

    def rows_at(
        self, columns: Sequence[str], positions: Rows, *, max_decoded: int
    ) -> tuple[pa.Table, int] | None:
        if self.part_rows * len(positions) > max_decoded:
            return None
        [whole] = self.batches(columns, batch_bytes=BIG)
        rows = pa.Table.from_batches([whole]).take(pa.array(positions))
        return rows, self.part_rows * len(positions)

    @property
    def make(self) -> MakeLookup:
        def made(scratch: ScratchDirectory | None, on_growth: Callable[[], None]) -> FileLookup:
            return FileLookup(
                self, key_columns=["k"], schema=SCHEMA, scratch=scratch, on_growth=on_growth
            )

        return made


class ManualSeconds:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-6
        return self.now


def value(lookup: FileLookup, key: int) -> list[str]:
    keys = WantedKeys(columns=(pa.array([key], pa.int64()),))
    positions = lookup.find(keys, np.arange(1))
    if positions[0] < 0:
        return []
    found: list[str] = lookup.columns(positions, ["v"]).column("v").to_pylist()
    return found


def ask(cache: LookupCache, name: str, file: GivenFile, key: int = 7) -> list[str]:
    with cache.using(name, size=file.file_size, make=file.make) as lookup:
        return value(lookup, key)


@pytest.mark.parametrize("max_memory_bytes", [0, BIG])
def test_a_file_is_read_once_by_columns(max_memory_bytes: int) -> None:
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=max_memory_bytes)
    file = GivenFile()

    assert [ask(cache, "f", file, key) for key in (7, 8, 100)] == [["value 7"], ["value 8"], []]

    assert file.reads == [["k"], ["v"]]
    assert (cache.memory_bytes > 0) == (max_memory_bytes > 0)
    assert (cache.disk_bytes > 0) == (max_memory_bytes == 0)
    cache.close()


def test_single_rows_do_not_wait_for_columns_until_a_quarter_of_the_file_was_decoded_for_them() -> (
    None
):
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=0)
    file = GivenFile(part_rows=10)
    kept = []

    for key in (1, 2, 3, 4):
        assert ask(cache, "f", file, key) == [f"value {key}"]
        lookup = cache.ready("f")
        assert lookup is not None
        kept.append(lookup.has(["v"]))

    assert kept == [False, False, True, True]
    assert file.reads == [["k"], ["v"], ["v"], ["v"]]
    cache.close()


def test_large_files_are_kept_on_disk_and_small_ones_in_memory(tmp_path: Path) -> None:
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=BIG, directory=str(tmp_path))

    ask(cache, "small", GivenFile())
    assert list(tmp_path.iterdir()) == []
    ask(cache, "large", GivenFile(file_size=100 << 20))

    assert cache.memory_bytes > 0
    assert cache.disk_bytes > 0
    kept = [path for path in tmp_path.rglob("*") if path.suffix in (".arrow", ".index")]
    assert sum(path.stat().st_size for path in kept) == cache.disk_bytes
    cache.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_was_not_used_for_longest_goes_when_the_disk_is_full(tmp_path: Path) -> None:
    one = LookupCache(max_disk_bytes=BIG, max_memory_bytes=0)
    ask(one, "a", GivenFile())
    size = one.disk_bytes
    one.close()
    cache = LookupCache(
        max_disk_bytes=3 * size + 1,
        max_memory_bytes=0,
        directory=str(tmp_path),
        seconds=ManualSeconds(),
    )
    files = {name: GivenFile() for name in "abcd"}

    for name in "abcad":
        assert ask(cache, name, files[name]) == ["value 7"]

    assert [name for name in "abcd" if cache.ready(name)] == ["a", "c", "d"]
    assert cache.disk_bytes == 3 * size
    kept = [path for path in tmp_path.rglob("*") if path.suffix in (".arrow", ".index")]
    assert sum(path.stat().st_size for path in kept) == cache.disk_bytes
    assert ask(cache, "b", files["b"]) == ["value 7"]
    assert files["b"].reads == [["k"], ["v"]] * 2
    cache.close()


def test_memory_is_bounded_on_its_own() -> None:
    one = LookupCache(max_disk_bytes=BIG, max_memory_bytes=BIG)
    ask(one, "a", GivenFile())
    size = one.memory_bytes
    cache = LookupCache(max_disk_bytes=0, max_memory_bytes=2 * size, seconds=ManualSeconds())

    for name in "abcd":
        ask(cache, name, GivenFile(file_size=1))

    assert cache.memory_bytes == 2 * size
    assert [name for name in "abcd" if cache.ready(name)] == ["c", "d"]


def test_a_file_that_is_held_stays_and_its_rows_outlive_it() -> None:
    cache = LookupCache(max_disk_bytes=0, max_memory_bytes=0)
    held, other = GivenFile(), GivenFile()

    with cache.using("held", size=1, make=held.make) as lookup:
        assert value(lookup, 3) == ["value 3"]
        ask(cache, "other", other)
        assert cache.ready("held") is lookup
        assert cache.ready("other") is None
        rows = lookup.columns(np.array([5, 6]), ["v"])
        one = lookup.columns(np.array([5]), ["v"])

    assert cache.ready("held") is None, "the bound holds again"
    assert cache.disk_bytes == 0
    assert rows.column("v").to_pylist() == ["value 5", "value 6"]
    assert one.column("v").to_pylist() == ["value 5"]
    assert value(lookup, 9) == ["value 9"], "what is mapped stays readable"
    cache.close()


def test_what_nobody_asked_for_in_an_hour_goes() -> None:
    seconds = ManualSeconds()
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=0, seconds=seconds)
    for name in "ab":
        ask(cache, name, GivenFile())
    seconds.now += IDLE_SECONDS / 2
    assert cache.ready("b") is not None
    seconds.now += IDLE_SECONDS * 0.6

    ask(cache, "c", GivenFile())

    assert [name for name in "abc" if cache.ready(name)] == ["b", "c"]
    cache.close()


def test_many_who_ask_at_once_read_a_file_once() -> None:
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=BIG)
    hold = threading.Event()
    file = GivenFile(hold=hold)

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(ask, cache, "f", file, key) for key in range(8)]
        hold.set()

        assert [answer.result() for answer in answers] == [[f"value {key}"] for key in range(8)]

    assert file.reads == [["k"], ["v"]]


def test_a_cold_file_is_not_in_the_way_of_others() -> None:
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=0)
    warm, next_one = GivenFile(), GivenFile()
    ask(cache, "warm", warm)
    hold = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        cold = pool.submit(ask, cache, "cold", GivenFile(hold=hold))

        assert ask(cache, "warm", warm) == ["value 7"]
        assert ask(cache, "next", next_one) == ["value 7"]
        assert cache.ready("cold") is None
        assert not cold.done()

        hold.set()
        assert cold.result() == ["value 7"]
    cache.close()


def test_a_file_that_could_not_be_read_is_read_again_and_leaves_nothing(tmp_path: Path) -> None:
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=0, directory=str(tmp_path))
    file = GivenFile(error=CorruptData("broken"))

    with pytest.raises(CorruptData):
        ask(cache, "f", file)
    assert cache.ready("f") is None
    file.error = None

    assert ask(cache, "f", file) == ["value 7"]
    cache.close()


def test_a_full_disk_is_an_error_that_passes_and_leaves_nothing(tmp_path: Path) -> None:
    cache = LookupCache(max_disk_bytes=BIG, max_memory_bytes=0, directory=str(tmp_path))
    ask(cache, "first", GivenFile())
    (directory,) = (path for path in tmp_path.glob("*/*") if path.is_dir())
    away = directory.rename(tmp_path / "away")

    with pytest.raises(StorageUnavailable, match="temporary file"):
        ask(cache, "f", GivenFile())
    away.rename(directory)

    assert ask(cache, "f", GivenFile()) == ["value 7"]
    cache.close()


def test_threads_that_use_more_than_fits_get_right_answers() -> None:
    cache = LookupCache(max_disk_bytes=20_000, max_memory_bytes=0)
    files = {f"f{number}": GivenFile(rows=50 + number) for number in range(12)}

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(60):
            number, key = int(random.integers(12)), int(random.integers(70))
            expected = [f"value {key}"] if key < 50 + number else []
            ready = cache.ready(f"f{number}")
            if ready is not None and ready.has(["v"]):
                assert value(ready, key) == expected
            assert ask(cache, f"f{number}", files[f"f{number}"], key) == expected

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert cache.disk_bytes <= 20_000
    cache.close()
