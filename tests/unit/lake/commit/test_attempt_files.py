"""Manifests of a commit are rolled, reused and deleted."""

import itertools
from dataclasses import replace

import pytest

from braid.lake.commit.attempt_files import CHANGELOG, DELTA, AttemptFiles
from braid.lake.commit.commit_changes import changes_of
from braid.lake.commit.steps import ignore_step
from braid.lake.errors import StorageUnavailable
from braid.lake.files.paths import TablePaths, is_manifest_part
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.support.committing import appended, data_file, stored_manifests, table_schema
from tests.support.faulty_file_io import FaultyFileIO

PATHS = TablePaths("/t")


def entries(count: int) -> tuple[ManifestEntry, ...]:
    files = (data_file(f"{number}") for number in range(count))
    return changes_of([appended(*files)], CommitKind.APPEND).delta


@pytest.fixture
def storage() -> FaultyFileIO:
    return FaultyFileIO(MemoryFileIO())


@pytest.fixture
def files(storage: FaultyFileIO) -> AttemptFiles:
    store = ManifestStore(storage, PATHS)
    return AttemptFiles(store, LiveFiles(store), on_step=ignore_step, uuid="u")


def test_names_are_those_of_the_format(files: AttemptFiles, storage: FaultyFileIO) -> None:
    files.write_changes(DELTA, entries(1), table_schema())
    files.write_base((), table_schema())

    assert stored_manifests(storage, PATHS) == {
        "manifest-u-sorted-0",
        "manifest-list-u-1",
        "manifest-list-u-2",
    }


def test_changes_are_written_once(files: AttemptFiles, storage: FaultyFileIO) -> None:
    first = files.write_changes(DELTA, entries(1), table_schema())

    assert files.write_changes(DELTA, entries(1), table_schema()) is first
    assert len(stored_manifests(storage, PATHS)) == 2


def test_an_empty_delta_is_an_empty_list(files: AttemptFiles, storage: FaultyFileIO) -> None:
    written = files.write_changes(DELTA, (), table_schema())

    assert written.manifests == ()
    assert ManifestStore(storage, PATHS).read_list(written.name) == ()


def test_large_deltas_are_parts_sorted_by_bucket(files: AttemptFiles) -> None:
    schema = table_schema(
        options={"manifest.target-file-size": "1 kb", "manifest.compression": "null"}
    )
    unsorted = [replace(entry, bucket=number * 7 % 40) for number, entry in enumerate(entries(40))]

    written = files.write_changes(DELTA, unsorted, schema).manifests

    assert len(written) > 2
    assert all(is_manifest_part(manifest.file_name) for manifest in written)
    bounds = [(m.min_bucket or 0, m.max_bucket or 0) for m in written]
    assert bounds == sorted(bounds)
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(bounds))
    assert sum(manifest.num_added_files for manifest in written) == 40


def test_entries_of_a_changelog_keep_their_order(
    files: AttemptFiles, storage: FaultyFileIO
) -> None:
    schema = table_schema(
        options={"manifest.target-file-size": "1 kb", "manifest.compression": "null"}
    )
    unsorted = [replace(entry, bucket=number * 7 % 40) for number, entry in enumerate(entries(40))]

    written = files.write_changes(CHANGELOG, unsorted, schema).manifests

    store = ManifestStore(storage, PATHS)
    found = [entry for manifest in written for entry in store.read_manifest(manifest.file_name)]
    assert len(written) > 1
    assert found == unsorted


def test_only_kept_files_stay(files: AttemptFiles, storage: FaultyFileIO) -> None:
    delta = files.write_changes(DELTA, entries(1), table_schema())
    files.write_base((), table_schema())
    base = files.write_base((), table_schema())

    files.clean(keep=[base, delta])
    assert stored_manifests(storage, PATHS) == {
        base.name,
        delta.name,
        delta.manifests[0].file_name,
    }

    files.clean()
    assert stored_manifests(storage, PATHS) == set()


def test_a_write_that_failed_half_way_is_cleaned_too(
    files: AttemptFiles, storage: FaultyFileIO
) -> None:
    storage.fail_calls(0, is_done=True, is_lasting=False)
    with pytest.raises(StorageUnavailable):
        files.write_changes(DELTA, entries(1), table_schema())
    assert len(stored_manifests(storage, PATHS)) == 1

    files.clean()

    assert stored_manifests(storage, PATHS) == set()


def test_files_that_cannot_be_deleted_are_left(files: AttemptFiles, storage: FaultyFileIO) -> None:
    files.write_changes(DELTA, entries(1), table_schema())
    storage.fail_calls(len(storage.calls), is_done=False, is_lasting=False)

    files.clean()

    storage.before = lambda *_: None
    assert len(stored_manifests(storage, PATHS)) == 1
