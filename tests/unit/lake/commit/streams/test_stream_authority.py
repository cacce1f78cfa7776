"""The newest authoritative snapshot has the state of a table's streams."""

import pytest

from braid.lake.commit.streams.stream_authority import StreamAuthority, find_authority
from braid.lake.commit.streams.stream_position import StreamPosition, position_properties
from braid.lake.errors import CorruptData
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import data_file, given_table
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.foreign_engine import commit_foreign, expire

POSITION = StreamPosition(stream="s", epoch=1, topic="t", topic_id="", offsets={0: 3})
ENTRY = ManifestEntry(
    kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, total_buckets=2, file=data_file("rows")
)


@pytest.fixture
def file_io() -> MemoryFileIO:
    return MemoryFileIO()


@pytest.fixture
def paths(file_io: MemoryFileIO) -> TablePaths:
    return given_table(file_io)


def authority(file_io: MemoryFileIO | FaultyFileIO, paths: TablePaths) -> StreamAuthority:
    snapshots = SnapshotStore(file_io, paths)
    return find_authority(snapshots.latest(), snapshots, ManifestStore(file_io, paths))


def test_an_empty_table_certainly_has_no_streams(file_io: MemoryFileIO, paths: TablePaths) -> None:
    assert authority(file_io, paths) == StreamAuthority(positions={}, is_complete=True)


def test_a_whole_history_without_streams_has_none(file_io: MemoryFileIO, paths: TablePaths) -> None:
    for _ in range(3):
        commit_foreign(file_io, paths)

    assert authority(file_io, paths) == StreamAuthority(is_complete=True)


def test_a_history_cut_short_proves_nothing(file_io: MemoryFileIO, paths: TablePaths) -> None:
    for _ in range(3):
        commit_foreign(file_io, paths)
    file_io.delete(paths.snapshot(1))

    assert authority(file_io, paths) == StreamAuthority(is_complete=False, lost_below=2)


def test_properties_of_streams_alone_make_an_authority(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    commit_foreign(file_io, paths, properties=position_properties({"s": POSITION}))
    for _ in range(3):
        commit_foreign(file_io, paths)

    assert authority(file_io, paths) == StreamAuthority(positions={"s": POSITION})


@pytest.mark.parametrize("is_complete", [True, False])
def test_an_authority_carries_itself_forward(
    file_io: MemoryFileIO, paths: TablePaths, is_complete: bool
) -> None:
    given = StreamAuthority(positions={"s": POSITION}, is_complete=is_complete)
    commit_foreign(file_io, paths, properties=given.properties())

    assert authority(file_io, paths) == given


def test_a_newest_snapshot_of_ours_needs_no_walk(file_io: MemoryFileIO, paths: TablePaths) -> None:
    for _ in range(9):
        commit_foreign(file_io, paths, properties=StreamAuthority().properties())
    counting = FaultyFileIO(file_io)

    authority(counting, paths)

    assert [method for method, _ in counting.calls].count("read_bytes") == 2


def test_a_walk_ends_where_another_one_began(file_io: MemoryFileIO, paths: TablePaths) -> None:
    snapshots = SnapshotStore(file_io, paths)
    commit_foreign(file_io, paths, properties=position_properties({"s": POSITION}))
    looked_at = [commit_foreign(file_io, paths) for _ in range(5)][-1]
    manifests = ManifestStore(file_io, paths)
    known = looked_at, find_authority(looked_at, snapshots, manifests)
    newest = [commit_foreign(file_io, paths) for _ in range(2)][-1]
    counting = FaultyFileIO(file_io)

    found = find_authority(newest, SnapshotStore(counting, paths), manifests, known=known)

    assert found == StreamAuthority(positions={"s": POSITION})
    assert counting.calls == [("read_bytes", paths.snapshot(number)) for number in (7, 6)]


def test_a_known_state_of_a_removed_snapshot_is_not_used(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    commit_foreign(file_io, paths)
    taken_back = commit_foreign(file_io, paths)
    known = taken_back, StreamAuthority(positions={"s": POSITION})
    file_io.delete(paths.snapshot(taken_back.id))
    SnapshotStore(file_io, paths).write_latest_hint(1)
    newest = [commit_foreign(file_io, paths) for _ in range(2)][-1]

    manifests = ManifestStore(file_io, paths)
    found = find_authority(newest, SnapshotStore(file_io, paths), manifests, known=known)

    assert found == StreamAuthority()


def test_the_oldest_snapshot_that_other_engines_have_left_is_the_authority(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    commit_foreign(file_io, paths, [ENTRY])
    commit_foreign(file_io, paths, properties=position_properties({"s": POSITION}))
    for _ in range(3):
        commit_foreign(file_io, paths, [ENTRY])
    expire(file_io, paths, keep_from=2)

    assert authority(file_io, paths) == StreamAuthority(positions={"s": POSITION})


@pytest.mark.parametrize("number", [1, 2])
def test_a_snapshot_on_which_nothing_was_built_is_no_authority(
    file_io: MemoryFileIO, paths: TablePaths, number: int
) -> None:
    """While its writer paused before publishing, others committed, and the snapshot it was planned on expired."""
    if number == 2:
        commit_foreign(file_io, paths)
    commit_foreign(file_io, paths, [ENTRY], properties=position_properties({"s": POSITION}))
    detached = file_io.read_bytes(paths.snapshot(number))
    file_io.delete(paths.snapshot(number))
    if number == 2:
        SnapshotStore(file_io, paths).write_latest_hint(1)
    for _ in range(3):
        commit_foreign(file_io, paths)
    expire(file_io, paths, keep_from=number + 1)
    assert file_io.create_exclusive(paths.snapshot(number), detached)

    found = authority(file_io, paths)

    assert found == StreamAuthority(is_complete=False, lost_below=number + 1)


def test_an_unreadable_position_is_corrupt(file_io: MemoryFileIO, paths: TablePaths) -> None:
    commit_foreign(file_io, paths, properties={"braid.stream.s": "?"})

    with pytest.raises(CorruptData, match="snapshot 1"):
        authority(file_io, paths)
