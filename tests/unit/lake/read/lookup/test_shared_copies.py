"""Copies that processes of a machine share: made by one, linked by the others, and gone with the last."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.format.system_columns import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND,
    VALUE_KIND_FIELD,
)
from braid.lake.read.lookup.copy_space import CopySpace
from braid.lake.read.lookup.copy_store import IDLE_SECONDS, CopyStore
from braid.lake.read.lookup.file_lookup import FileLookup
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.lookup_settings import LookupSettings
from braid.lake.read.lookup.wanted_keys import WantedKeys
from tests.support.waiting import wait_until

ROWS = 300_000
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
BIG = 1 << 40


@dataclass(kw_only=True)
class GivenFile:
    """A file with the keys 0, 2, 4, …, and the columns that were decoded from it."""

    reads: list[Sequence[str]] = field(default_factory=list)
    row_count: int = ROWS
    file_size: int = 64 << 20
    error: Exception | None = None

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        self.reads.append(columns)
        if self.error is not None:
            raise self.error
        numbers = np.arange(ROWS)
        values = {
            "k": pa.array(2 * numbers),
            "v": pa.array(7 * numbers),
            SEQUENCE_NUMBER: pa.array(numbers),
            VALUE_KIND: pa.array(np.zeros(ROWS, np.int8)),
        }
        every = pa.schema([*SCHEMA, SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD])
        schema = pa.schema([every.field(name) for name in columns])
        yield 0, pa.record_batch([values[name] for name in columns], schema=schema)

    def make(self, space: CopySpace) -> FileLookup:
        return FileLookup(self, key_columns=["k"], schema=SCHEMA, space=space)


class Process:
    """What a process has of its own: a store of copies."""

    def __init__(self, directory: Path, *, disk: int = BIG, are_shared: bool = True) -> None:
        settings = LookupSettings(
            directory=str(directory), max_disk_bytes=disk, max_memory_bytes=0, are_shared=are_shared
        )
        self.store = CopyStore(settings)
        self.cache = LookupCache(
            self.store, "t", max_disk_bytes=BIG, max_memory_bytes=BIG, idle_seconds=IDLE_SECONDS
        )

    def copy(self, file: GivenFile, name: str = "file") -> FileLookup | None:
        return self.cache.get_or_copy(name, file.make, ["k", "v"])


def rows_of(copy: FileLookup | None) -> list[dict[str, int]]:
    assert copy is not None
    keys = WantedKeys(columns=(pa.array([0, 1, 2, 2 * ROWS - 2, 2 * ROWS], pa.int64()),))
    found = copy.find(keys, np.arange(len(keys)))
    rows: list[dict[str, int]] = copy.take(found[found >= 0], ["k", "v"]).to_pylist()
    return rows


EXPECTED = [{"k": k, "v": 7 * k // 2} for k in (0, 2, 2 * ROWS - 2)]


def parts_on_disk(directory: Path) -> list[Path]:
    return [path for path in directory.glob("*/*/*") if path.is_file()]


def test_a_copy_is_made_once_and_takes_its_space_once(tmp_path: Path) -> None:
    one, other, file, same_file = Process(tmp_path), Process(tmp_path), GivenFile(), GivenFile()

    made, linked = one.copy(file), other.copy(same_file)

    assert rows_of(made) == rows_of(linked) == EXPECTED
    assert file.reads
    assert same_file.reads == []
    paths = parts_on_disk(tmp_path)
    assert len({path.stat().st_ino for path in paths}) == len(paths) / 2
    assert one.cache.disk_bytes > 0
    assert other.cache.disk_bytes > 0


def test_a_copy_exists_until_the_last_process_has_removed_it(tmp_path: Path) -> None:
    first, second, third = (Process(tmp_path) for _ in range(3))
    first.copy(GivenFile())
    assert rows_of(second.copy(GivenFile())) == EXPECTED

    first.store.close()
    file = GivenFile()
    assert rows_of(third.copy(file)) == EXPECTED
    assert file.reads == []

    second.store.close()
    third.store.close()
    assert parts_on_disk(tmp_path) == []


def test_processes_that_want_a_copy_at_once_make_it_once(tmp_path: Path) -> None:
    processes, files = [Process(tmp_path) for _ in range(4)], [GivenFile() for _ in range(4)]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda pair: pair[0].copy(pair[1]), zip(processes, files)))  # noqa: B905

    assert [rows_of(copy) for copy in found] == [EXPECTED] * 4
    decoded = [columns for file in files for columns in file.reads]
    assert len(decoded) == len({tuple(columns) for columns in decoded})


def test_copies_of_other_files_are_not_linked(tmp_path: Path) -> None:
    one, other, file = Process(tmp_path), Process(tmp_path), GivenFile()
    one.copy(GivenFile(), "a")

    other.copy(file, "b")

    assert file.reads


def test_a_linked_copy_counts_for_the_bound_of_its_process(tmp_path: Path) -> None:
    one, small = Process(tmp_path), Process(tmp_path, disk=1_000)
    one.copy(GivenFile())
    before = parts_on_disk(tmp_path)

    assert small.copy(GivenFile()) is None

    assert small.cache.disk_bytes == 0
    assert parts_on_disk(tmp_path) == before


@pytest.mark.parametrize("are_shared", [True, False])
def test_an_error_of_storage_is_not_want_of_room(tmp_path: Path, are_shared: bool) -> None:
    process, file = Process(tmp_path, are_shared=are_shared), GivenFile()
    file.error = StorageUnavailable("storage refuses")

    with pytest.raises(StorageUnavailable, match="refuses"):
        process.copy(file)

    file.error = None
    assert rows_of(process.copy(file)) == EXPECTED


@pytest.mark.parametrize("is_complete", [True, False])
def test_what_a_process_that_is_killed_was_making_is_made_by_another(
    tmp_path: Path, is_complete: bool
) -> None:
    program = """
import sys
from pathlib import Path
from braid.lake.files.storage.scratch import ScratchDirectory
scratch = ScratchDirectory(sys.argv[1])
with scratch.made_by_one("part") as found:
    assert found is None
    path = scratch.new_path(".part")
    Path(path).write_bytes(b"half")
    if sys.argv[2] == "True":
        scratch.share(path, "part")
    print(scratch.path, flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", program, str(tmp_path), str(is_complete)]
    maker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with maker:
        assert maker.stdout is not None
        theirs = Path(maker.stdout.readline().strip())
        scratch = ScratchDirectory(str(tmp_path))
        found: list[bytes | None] = []

        def look() -> None:
            with scratch.made_by_one("part") as path:
                found.append(None if path is None else Path(path).read_bytes())

        waits = threading.Thread(target=look)
        waits.start()
        assert found == []
        maker.send_signal(signal.SIGKILL)
        wait_until(lambda: not waits.is_alive())

    assert found == [b"half" if is_complete else None]
    next_one = ScratchDirectory(str(tmp_path))
    assert not theirs.exists()
    scratch.close()
    next_one.close()
