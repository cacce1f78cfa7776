"""Live files are the ADDs without the DELETEs, found with few reads."""

import pytest

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import appended, compacted, data_file, given_table, new_committer
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.foreign_engine import expire


@pytest.fixture
def file_io() -> MemoryFileIO:
    return MemoryFileIO()


@pytest.fixture
def paths(file_io: MemoryFileIO) -> TablePaths:
    paths = given_table(file_io)
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"), data_file("b"))], commit_user="u")
    committer.commit([appended(data_file("c"), bucket=1)], commit_user="u")
    committer.commit(
        [compacted((data_file("a"),), (data_file("d", level=5),))],
        commit_user="u",
        kind=CommitKind.COMPACT,
    )
    return paths


def names(live: LiveFiles, paths: TablePaths, file_io: MemoryFileIO, number: int) -> list[str]:
    snapshot = SnapshotStore(file_io, paths).get(number)
    return sorted(entry.file.file_name for entry in live.entries(snapshot))


def test_each_snapshot_has_its_own_files(file_io: MemoryFileIO, paths: TablePaths) -> None:
    live = LiveFiles(ManifestStore(file_io, paths))

    for _ in range(2):
        assert names(live, paths, file_io, 1) == ["a", "b"]
        assert names(live, paths, file_io, 2) == ["a", "b", "c"]
        assert names(live, paths, file_io, 3) == ["b", "c", "d"]


def test_only_adds_are_live(file_io: MemoryFileIO, paths: TablePaths) -> None:
    snapshot = SnapshotStore(file_io, paths).get(3)

    entries = LiveFiles(ManifestStore(file_io, paths)).entries(snapshot)

    assert {entry.file.file_name for entry in entries} == {"b", "c", "d"}
    assert {entry.file.level for entry in entries if entry.file.file_name == "d"} == {5}


def test_a_known_base_needs_the_delta_only(file_io: MemoryFileIO, paths: TablePaths) -> None:
    counting = FaultyFileIO(file_io)
    live = LiveFiles(ManifestStore(counting, paths))
    snapshots = SnapshotStore(file_io, paths)
    live.entries(snapshots.get(2))
    counting.calls.clear()

    live.entries(snapshots.get(3))

    manifests = [path for _, path in counting.calls if "manifest-list" not in path]
    assert len(manifests) == 1


def test_files_are_filtered_by_bucket_and_partition(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    snapshot = SnapshotStore(file_io, paths).get(3)
    store = ManifestStore(file_io, paths)
    warm = LiveFiles(store)
    warm.entries(snapshot)

    for live in (LiveFiles(store), warm):
        found = live.entries(snapshot, buckets={1})
        assert [entry.file.file_name for entry in found] == ["c"]
        assert live.entries(snapshot, partitions=[b"another"]) == []
        assert len(live.entries(snapshot, partitions=[EMPTY_ROW])) == 3
        assert live.entries(snapshot, partitions=[EMPTY_ROW], buckets=[7]) == []


def test_manifests_of_other_buckets_are_not_read(file_io: MemoryFileIO, paths: TablePaths) -> None:
    counting = FaultyFileIO(file_io)

    LiveFiles(ManifestStore(counting, paths)).entries(
        SnapshotStore(file_io, paths).get(3), buckets=[1]
    )

    assert len([path for _, path in counting.calls if "manifest-list" not in path]) == 1


def test_states_are_bounded(file_io: MemoryFileIO, paths: TablePaths) -> None:
    live = LiveFiles(ManifestStore(file_io, paths), states_max=1)

    for number in (1, 2, 3, 1, 2, 3):
        names(live, paths, file_io, number)

    assert names(live, paths, file_io, 3) == ["b", "c", "d"]


def test_an_expired_snapshot_is_an_honest_error(file_io: MemoryFileIO, paths: TablePaths) -> None:
    snapshot = SnapshotStore(file_io, paths).get(1)
    expire(file_io, paths, keep_from=3)

    with pytest.raises(ManifestGone, match="has expired"):
        LiveFiles(ManifestStore(file_io, paths)).entries(snapshot)
