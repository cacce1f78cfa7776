"""Other processes commit during a compaction; the compaction yields, and nothing is lost."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest

from braid.lake import CommitKind, CommitMessage, CompactionResult, CorruptData, MemoryFileIO, Table
from braid.lake.format.commit_message import VectorsChange
from braid.lake.format.data_file import DataFileMeta
from braid.lake.snapshots.deletion_vectors import VectorStore, vector_entries
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.lake.maintenance.given_compactions import (
    files,
    given_table,
    levels,
    live,
    read,
    reopened,
    stored_data_files,
    write,
)

Act = Callable[[Table], object]


def compact_while(
    inner: MemoryFileIO, act: Act, *, at: str = "open_output", full: bool = True
) -> CompactionResult:
    """Compact; another process acts right before the first call of a method."""
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)
    acted: list[object] = []

    def intervene(_: int, method: str, path: str) -> None:
        if method == at and not acted and ("/bucket-" in path or at == "create_exclusive"):
            acted.append(None)
            act(reopened(inner))

    file_io.before = intervene
    result = table.compact(full=full)
    assert acted, "the other process had its turn"
    return result


def given_two_buckets(options: dict[str, str] | None = None) -> MemoryFileIO:
    """Return storage with a partitioned table: partitions a and b, two overlapping files each."""
    file_io = MemoryFileIO()
    table = given_table(options, file_io=file_io, partition=["p"])
    for number in range(2):
        for p in ("a", "b"):
            write(table, (1, number), (2, number), p=p)
    return file_io


@pytest.mark.parametrize("at", ["open_input", "open_output", "create_exclusive"])
def test_appends_that_land_meanwhile_stay(at: str) -> None:
    inner = given_two_buckets()

    result = compact_while(inner, lambda other: write(other, (2, 7), (3, 7), p="a"), at=at)

    table = reopened(inner)
    assert (result.buckets, result.dropped) == (2, ())
    assert levels(table) == [0, 5, 5]
    assert read(table) == [
        ("a", 1, 1, None),
        ("a", 2, 7, None),
        ("a", 3, 7, None),
        ("b", 1, 1, None),
        ("b", 2, 1, None),
    ]


@pytest.mark.parametrize("at", ["open_output", "create_exclusive"])
def test_a_second_compaction_was_faster_everywhere(at: str) -> None:
    inner = given_two_buckets()

    result = compact_while(inner, Table.compact, at=at)

    table = reopened(inner)
    assert result.snapshot_id is None
    assert (result.buckets, result.files_in, result.files_out, result.rows_out) == (0, 0, 0, 0)
    assert sorted((d.partition, d.bucket, d.files) for d in result.dropped) == [
        ("p=a", 0, 2),
        ("p=b", 0, 2),
    ]
    assert {dropped.reason for dropped in result.dropped} == {
        "files to be replaced are not live any more"
    }
    assert levels(table) == [5, 5]
    assert len(stored_data_files(inner)) == 4 + 2


def test_buckets_that_no_other_process_compacted_are_committed() -> None:
    inner = given_two_buckets()
    entries = [entry for entry in live(reopened(inner)) if entry.file.level == 0]
    lost_partition = min(entry.partition for entry in entries)

    result = compact_while(inner, lambda other: compact_only(other, lost_partition))

    table = reopened(inner)
    assert (result.snapshot_id, result.buckets) == (6, 1)
    assert [dropped.partition for dropped in result.dropped] == ["p=a"]
    assert levels(table) == [5, 5]
    assert read(table) == [(p, k, 1, None) for p in ("a", "b") for k in (1, 2)]
    assert len(stored_data_files(inner)) == 4 + 2


def test_a_newer_file_was_moved_to_the_highest_level_meanwhile() -> None:
    """Its keys overlap with ours, so ours cannot go there; the next compaction merges both."""
    inner = MemoryFileIO()
    table = given_table(file_io=inner)
    write(table, (1, 1), (2, 1))
    write(table, (1, 2), (2, 2))

    def append_and_move(other: Table) -> None:
        write(other, (2, 3), (3, 3))
        move_newest(other, level=5)

    result = compact_while(inner, append_and_move)

    assert result.snapshot_id is None
    assert [dropped.reason for dropped in result.dropped] == [
        "another process has put files on the output level"
    ]
    assert levels(table) == [0, 0, 5]
    assert table.compact().files_in == 3
    assert read(table) == [("x", 1, 2, None), ("x", 2, 3, None), ("x", 3, 3, None)]


def test_a_newer_file_on_a_lower_level_is_no_hindrance() -> None:
    inner = MemoryFileIO()
    table = given_table(file_io=inner)
    write(table, (1, 1), (2, 1))
    write(table, (1, 2))

    def append_and_move(other: Table) -> None:
        write(other, (2, 3))
        move_newest(other, level=2)

    assert compact_while(inner, append_and_move).dropped == ()
    assert levels(table) == [2, 5]
    assert read(table) == [("x", 1, 2, None), ("x", 2, 3, None)]


@pytest.mark.parametrize("at", ["open_input", "open_output", "create_exclusive"])
def test_old_files_that_expiry_removed_meanwhile_are_no_damage(at: str) -> None:
    inner = given_two_buckets()

    def compact_and_expire(other: Table) -> None:
        other.compact()
        expire_all_but_newest(other, inner)

    result = compact_while(inner, compact_and_expire, at=at)

    table = reopened(inner)
    assert result.snapshot_id is None
    assert len(result.dropped) == 2
    assert stored_data_files(inner) == {file.file_name for file in files(table)}
    assert read(table) == [(p, k, 1, None) for p in ("a", "b") for k in (1, 2)]


VECTORS = {"deletion-vectors.enabled": "true"}


def long_text(key: int) -> str:
    """Return text that does not compress, so that its file is large beside one of a few rows."""
    return sha256(b"%d" % key).hexdigest()


def given_marked_rows() -> MemoryFileIO:
    """Return storage with a table of 300 rows on level 5, one of them marked as deleted and written again on level 4."""
    inner = MemoryFileIO()
    table = given_table(VECTORS, file_io=inner)
    write(table, *((k, k, long_text(k)) for k in range(300)))
    table.compact()
    write(table, (1, -1))
    table.compact(full=False)
    assert levels(table) == [4, 5]
    return inner


def test_an_old_file_of_a_lookup_that_expiry_removed_meanwhile_is_no_damage() -> None:
    """The compaction replaces level 0 alone, and looks up its keys in the file on level 5."""
    inner = MemoryFileIO()
    table = given_table(VECTORS, file_io=inner)
    write(table, *((k, k, long_text(k)) for k in range(300)))
    table.compact()
    (old,) = files(table)
    write(table, (1, -1))
    file_io = FaultyFileIO(inner)

    def intervene(_: int, method: str, path: str) -> None:
        if method == "open_input" and path.endswith(old.file_name) and inner.exists(path):
            replace_by_copy(reopened(inner), old, inner)
            reopened(inner).expire(retain_max=1, older_than_ms=2**62)

    file_io.before = intervene
    result = reopened(file_io).compact(full=False)

    table = reopened(inner)
    assert not inner.exists(f"{table.path}/bucket-0/{old.file_name}")
    assert [dropped.reason for dropped in result.dropped] == [
        "files to be replaced are not live any more"
    ]
    assert levels(table) == [0, 5]
    assert reopened(inner).compact(full=False).dropped == ()
    assert read(table)[1] == ("x", 1, -1, None)


@pytest.mark.parametrize("at", ["open_output", "create_exclusive"])
def test_a_bucket_with_rows_marked_meanwhile_is_dropped(at: str) -> None:
    """The compaction would restore the old vectors, so it drops the bucket; the next one adds to the new ones."""
    inner = given_marked_rows()
    table = reopened(inner)
    write(table, (2, -2))
    (old,) = [file for file in files(table) if file.level == 5]

    def act(other: Table) -> None:
        replace_by_copy(other, old, inner)

    before = stored_data_files(inner)
    result = compact_while(inner, act, at=at, full=False)

    assert result.snapshot_id is None
    assert [dropped.reason for dropped in result.dropped] == [
        "another process has marked rows of the bucket"
    ]
    assert stored_data_files(inner) == before | {f"data-copy-of-{old.file_name}"}
    assert reopened(inner).compact(full=False).dropped == ()
    rows = read(reopened(inner))
    assert len(rows) == 300
    assert [row[2] for row in rows if row[1] in (1, 2)] == [-1, -2]


def test_vectors_that_expiry_removed_before_they_were_read_are_no_damage() -> None:
    inner = given_marked_rows()
    file_io = FaultyFileIO(inner)
    acted: list[object] = []

    def intervene(_: int, method: str, path: str) -> None:
        if method == "read_bytes" and "/index/" in path and not acted:
            acted.append(None)
            other = reopened(inner)
            other.compact()
            write(other, (2, -2))
            other.expire(retain_max=1, older_than_ms=2**62)
            assert not inner.exists(path)

    file_io.before = intervene
    result = reopened(file_io).compact(full=False)

    assert (result.files_in, result.dropped) == (1, ())
    assert read(reopened(inner))[1:3] == [
        ("x", 1, -1, None),
        ("x", 10, 10, long_text(10)),
    ]


def test_live_vectors_that_are_absent_are_damage() -> None:
    inner = given_marked_rows()
    (index,) = inner.list(f"{reopened(inner).path}/index")
    inner.delete(index.path)

    with pytest.raises(CorruptData, match=index.name):
        reopened(inner).compact()


def test_a_snapshot_that_expires_while_it_is_planned_on_is_no_damage() -> None:
    inner = given_two_buckets()
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)
    acted: list[object] = []

    def intervene(_: int, method: str, path: str) -> None:
        if method == "read_bytes" and "manifest-list" in path and not acted:
            acted.append(None)
            other = reopened(inner)
            write(other, (9, 9), p="a")
            expire_all_but_newest(other, inner)

    file_io.before = intervene

    assert table.compact().buckets == 2
    assert acted
    assert ("a", 9, 9, None) in read(reopened(inner))


def test_a_live_file_that_is_absent_is_damage() -> None:
    inner = given_two_buckets()
    table = reopened(inner)
    entry = live(table)[0]
    inner.delete(f"{table.path}/p=a/bucket-0/{entry.file.file_name}")
    inner.delete(f"{table.path}/p=b/bucket-0/{entry.file.file_name}")
    before = stored_data_files(inner)

    with pytest.raises(CorruptData, match=entry.file.file_name):
        table.compact()

    assert stored_data_files(inner) == before


def compact_only(table: Table, partition: bytes) -> None:
    """Compact one partition, as an engine does that works bucket by bucket."""
    bucket_ids = {
        (entry.partition, entry.bucket) for entry in live(table) if entry.partition == partition
    }
    assert table.compact(buckets=bucket_ids).buckets == 1


def replace_by_copy(table: Table, old: DataFileMeta, file_io: MemoryFileIO) -> None:
    """Replace a file of bucket 0 by one with the same rows, as a rewrite of it alone does."""
    directory = f"{table.path}/bucket-0"
    copy = replace(old, file_name=f"data-copy-of-{old.file_name}")
    file_io.write_new(
        f"{directory}/{copy.file_name}", file_io.read_bytes(f"{directory}/{old.file_name}")
    )
    entry = next(entry for entry in live(table) if entry.file == old)
    message = CommitMessage(
        partition=entry.partition,
        bucket=entry.bucket,
        total_buckets=entry.total_buckets,
        schema_id=0,
        new_files=(),
        compact_before=(old,),
        compact_after=(copy,),
        vectors=renamed_vectors(table, file_io, old.file_name, copy.file_name),
    )
    table.committer().commit([message], commit_user="rewriter", kind=CommitKind.COMPACT)


def renamed_vectors(table: Table, file_io: MemoryFileIO, old: str, new: str) -> VectorsChange:
    """Return the change of bucket 0 that moves the marks of a file to another one."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    if snapshot.index_manifest is None:
        return VectorsChange(base=None, new=None)
    indexes = ManifestStore(file_io, table.paths).read_index_manifest(snapshot.index_manifest)
    (((partition, bucket), entry),) = vector_entries(indexes).items()
    store = VectorStore(file_io, table.paths)
    vectors = dict(store.read(entry).vectors)
    vectors[new] = vectors.pop(old)
    written = store.write(
        vectors, partition=partition, bucket=bucket, name=f"index-of-{new}", is_64_bit=False
    )
    return VectorsChange(base=entry.file_name, new=written)


def move_newest(table: Table, *, level: int) -> None:
    """Move the newest file to a level, as an engine does that compacts step by step."""
    newest = max(live(table), key=lambda entry: entry.file.max_sequence_number)
    message = CommitMessage(
        partition=newest.partition,
        bucket=newest.bucket,
        total_buckets=newest.total_buckets,
        schema_id=0,
        new_files=(),
        compact_before=(newest.file,),
        compact_after=(replace(newest.file, level=level),),
    )
    table.committer().commit([message], commit_user="stepwise", kind=CommitKind.COMPACT)


def expire_all_but_newest(table: Table, file_io: MemoryFileIO) -> None:
    """Remove old snapshots, their manifests, and the data files that only they name."""
    store = SnapshotStore(file_io, table.paths)
    newest = store.latest()
    assert newest is not None
    kept = {entry.file.file_name for entry in table.live_files(newest)}
    manifests = ManifestStore(file_io, table.paths)
    lists = (newest.base_manifest_list, newest.delta_manifest_list)
    named = {m.file_name for name in lists for m in manifests.read_list(name)}
    for number in store.list_ids()[:-1]:
        file_io.delete(table.paths.snapshot(number))
    for status in file_io.list(table.paths.manifest_dir):
        if status.name not in {*lists, *named}:
            file_io.delete(status.path)
    for directory in {f"{table.path}/p={p}/bucket-0" for p in ("a", "b")}:
        for status in file_io.list(directory):
            if status.name not in kept:
                file_io.delete(status.path)
