"""Documents whose versions are files."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.versions import KEPT_MS, KEPT_VERSIONS, Versioned, VersionedFile

DIRECTORY = "/w/_braid/tables/a.b"


@pytest.fixture
def document(file_io: MemoryFileIO) -> VersionedFile:
    return VersionedFile(file_io, DIRECTORY, clock=ManualClock())


def late_clock() -> ManualClock:
    """A clock at which everything written by now is old; storage keeps its own time."""
    now_ms = time.time_ns() // 1_000_000
    return ManualClock(start_ms=now_ms + 2 * KEPT_MS)


def test_there_is_no_version_before_the_first(document: VersionedFile) -> None:
    assert document.latest() is None


def test_the_newest_version_is_the_document(document: VersionedFile) -> None:
    for version in range(1, 12):
        assert document.create(version, f"v{version}".encode())

    assert document.latest() == Versioned(version=11, value=b"v11")


def test_a_version_is_created_once(document: VersionedFile) -> None:
    assert document.create(1, b"mine")

    assert not document.create(1, b"yours")
    assert document.latest() == Versioned(version=1, value=b"mine")


def test_a_store_that_repeats_a_request_does_not_make_its_caller_a_loser(
    document: VersionedFile,
) -> None:
    document.create(1, b"mine")

    assert document.create(1, b"mine")


def test_of_many_writers_exactly_one_gets_a_version(document: VersionedFile) -> None:
    document.create(1, b"first")

    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(lambda n: document.create(2, b"%d" % n), range(8)))

    assert won.count(True) == 1


def test_young_versions_are_kept_however_many_there_are(
    file_io: MemoryFileIO, document: VersionedFile
) -> None:
    for version in range(1, 31):
        document.create(version, b"")

    assert len(file_io.list(DIRECTORY)) == 30


def test_old_versions_are_cleaned_but_for_the_newest_ten(file_io: MemoryFileIO) -> None:
    document = VersionedFile(file_io, DIRECTORY, clock=late_clock())

    for version in range(1, 31):
        document.create(version, b"")

    kept = [int(status.name.removesuffix(".json")) for status in file_io.list(DIRECTORY)]
    assert kept == list(range(30 - KEPT_VERSIONS, 31))


def test_a_version_that_lands_in_the_hole_of_cleaned_ones_is_taken_back(
    file_io: MemoryFileIO,
) -> None:
    """A writer that slept while its version was used and cleaned must not believe it won."""
    document = VersionedFile(file_io, DIRECTORY, clock=late_clock())
    for version in range(1, 31):
        document.create(version, b"")

    assert not document.create(3, b"late")
    assert not file_io.exists(f"{DIRECTORY}/{3:020d}.json")
    assert document.latest() == Versioned(version=30, value=b"")


def test_other_files_in_the_directory_are_not_versions(
    file_io: MemoryFileIO, document: VersionedFile
) -> None:
    document.create(1, b"v1")
    file_io.write_new(f"{DIRECTORY}/00000000000000000009.json.tmp", b"")
    file_io.write_new(f"{DIRECTORY}/notes.json", b"")

    assert document.latest() == Versioned(version=1, value=b"v1")
