"""Unreferenced files are found, and files that anything may need are not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from braid.lake import (
    CorruptData,
    FileStatus,
    InvalidRequest,
    MemoryFileIO,
    PathWork,
    ReadAt,
    Table,
)
from braid.lake.files.paths import TablePaths
from braid.lake.snapshots.changelog_store import ChangelogStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.tag_store import TagStore
from tests.support.fault_sweep import moments
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import copied, missing_files, stored_files, unneeded_files
from tests.unit.lake.maintenance.given_compactions import (
    PATH,
    given_table,
    read,
    reopened,
    rows,
    write,
)
from tests.unit.lake.maintenance.given_histories import (
    assert_cleaned_exact,
    assert_exact,
    expire_all_but,
    given_history,
    late,
    sweep,
)

STRAY = {
    "manifest/manifest-x-0": "manifest that no snapshot",
    "manifest/.manifest-x-0.1.tmp": "interrupted",
    "index/index-x-0": "index file that no snapshot",
    "statistics/stat-x-0": "statistics file that no snapshot",
    "bucket-0/data-x-0.parquet": "data or changelog file that no snapshot",
    "bucket-7/changelog-x-0.parquet": "data or changelog file that no snapshot",
    "snapshot/.snapshot-9.1.tmp": "interrupted",
    "snapshot/zzz": "the format has no such file",
    "changelog/zzz": "the format has no such file",
    "schema/.schema-1.1.tmp": "interrupted",
    "tag/.tag-a.1.tmp": "interrupted",
    "consumer/.consumer-a.1.tmp": "interrupted",
    "branch/branch-b/snapshot/.snapshot-1.1.tmp": "interrupted",
}
# Not in a directory of the format, or one that orphan cleaning must not judge.
FOREIGN = ("_mine/keep", "index.json", "bucket-0/blob.managed.blob", "p=1/bucket-0/data-y-0")


def put(file_io: MemoryFileIO, *names: str) -> None:
    for name in names:
        file_io.write_new(f"{PATH}/{name}", b"12345")


def test_every_kind_of_stray_file_is_found_with_its_reason() -> None:
    file_io = MemoryFileIO()
    given_history(file_io)
    put(file_io, *STRAY, *FOREIGN)

    report = late(file_io).clean_orphans()

    found = {file.path.removeprefix(f"{PATH}/"): file for file in report.files}
    assert found.keys() == STRAY.keys()
    assert all(STRAY[name] in file.reason for name, file in found.items())
    assert [file.path for file in report.files] == sorted(file.path for file in report.files)
    assert (report.size, report.is_deleted, report.younger_files) == (5 * len(STRAY), False, 0)


def test_others_may_list_and_delete_in_parts_and_twice() -> None:
    file_io = MemoryFileIO()
    given_history(file_io)
    before = stored_files(file_io, PATH)
    put(file_io, *STRAY)

    def spread(work: PathWork, paths: Sequence[str]) -> list[FileStatus]:
        work(paths)
        return [status for path in reversed(paths) for status in work([path])]

    report = late(file_io).clean_orphans(delete=True, spread=spread)

    assert [file.path for file in report.files] == sorted(f"{PATH}/{name}" for name in STRAY)
    assert stored_files(file_io, PATH) == before


def test_a_dry_run_deletes_nothing() -> None:
    file_io = MemoryFileIO()
    given_history(file_io)
    put(file_io, *STRAY)
    before = stored_files(file_io, PATH)

    late(file_io).clean_orphans()

    assert stored_files(file_io, PATH) == before


def test_cleaning_deletes_the_orphans_and_nothing_else() -> None:
    file_io = MemoryFileIO()
    given_history(file_io)
    before = stored_files(file_io, PATH)
    put(file_io, *STRAY, *FOREIGN)

    report = late(file_io).clean_orphans(delete=True)

    assert report.is_deleted
    assert len(report.files) == len(STRAY)
    assert stored_files(file_io, PATH) == before | set(FOREIGN)
    assert late(file_io).clean_orphans().files == ()


def test_young_files_are_left_alone() -> None:
    """The clock of this table is long before the time at which its files are written."""
    file_io = MemoryFileIO()
    given_history(file_io)
    put(file_io, *STRAY)

    report = reopened(file_io).clean_orphans(delete=True)

    assert report.files == ()
    assert report.younger_files == len(STRAY)
    assert set(STRAY) <= stored_files(file_io, PATH)


def test_a_negative_age_is_refused() -> None:
    table = given_history(MemoryFileIO())

    with pytest.raises(InvalidRequest, match="min_age_ms"):
        table.clean_orphans(min_age_ms=-1)


def test_partitions_and_the_directory_of_data_files_are_looked_through() -> None:
    file_io = MemoryFileIO()
    options = {"data-file.path-directory": "data"}
    table = given_table(options, file_io=file_io, partition=["p"])
    write(table, (1, 1), p="a/b")
    write(table, (2, 2), p="c")
    assert_exact(file_io)
    put(file_io, "data/p=gone/bucket-0/data-x-0.parquet", "data/bucket-0/data-y-0.parquet")

    report = late(file_io).clean_orphans()

    assert [file.path.removeprefix(PATH) for file in report.files] == [
        "/data/p=gone/bucket-0/data-x-0.parquet"
    ]


def given_compacted(
    options: Mapping[str, str] | None = None, *, tag: int | None = None, branch: int | None = None
) -> Table:
    """Return a table with three compacted commits, of which all snapshots before have expired."""
    file_io = MemoryFileIO()
    given_table(options, file_io=file_io)
    table = late(file_io)
    for k in (1, 2, 3):
        write(table, (k, k))
    if tag is not None:
        table.create_tag("t", snapshot_id=tag)
    if branch is not None:
        given_branch(file_io, snapshot_id=branch)
    table.compact()
    expire_all_but(table, 1)
    late(file_io).clean_orphans(min_age_ms=0, delete=True)
    assert missing_files(file_io, late(file_io)) == set()
    return late(file_io)


def test_a_tag_needs_its_files() -> None:
    assert given_compacted(tag=2).scan(at=ReadAt(tag="t")).count() == 2


def test_a_tag_does_not_need_the_changelog_of_its_snapshot() -> None:
    """An expiry that died has removed the snapshot and left its changelog."""
    file_io = MemoryFileIO()
    table = given_table({"changelog-producer": "input"}, file_io=file_io)
    write(table, (1, 1))
    write(table, (2, 2))
    table.create_tag("t", snapshot_id=1)
    file_io.delete(table.paths.snapshot(1))

    found = late(file_io).clean_orphans(min_age_ms=0, delete=True).files

    kinds = sorted(file.path.removeprefix(f"{PATH}/").split("-")[0] for file in found)
    assert kinds == ["bucket", "manifest/manifest", "manifest/manifest"]
    assert late(file_io).scan(at=ReadAt(tag="t")).count() == 1
    assert late(file_io).changes(1).to_arrow().num_rows == 1


def test_a_branch_needs_its_files() -> None:
    assert given_compacted(branch=2).branch("b").scan().count() == 2


def test_a_kept_changelog_needs_its_files() -> None:
    table = given_compacted({"changelog.time-retained": "9 d"})

    assert ChangelogStore(table.file_io, table.paths).list_ids() == [1, 2, 3]
    assert [changed.to_arrow().num_rows for changed in table.changes(0, 3)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("directory", "times"),
    [
        pytest.param("bucket-0", 1, id="after-the-listing"),
        pytest.param("tag", 3, id="before-the-deletion"),
    ],
)
def test_an_old_file_that_is_committed_meanwhile_is_kept(directory: str, times: int) -> None:
    """Buckets are listed once, tags until a listing has no new one."""
    inner = MemoryFileIO()
    given_history(inner)
    table = late(inner)
    writer = table.writer()
    writer.write(rows((9, 9)))
    messages = writer.prepare_commit().messages
    file_io = FaultyFileIO(inner)
    lists = 0

    def commit(number: int, method: str, path: str) -> None:
        nonlocal lists
        del number
        lists += method == "list" and path == f"{PATH}/{directory}"
        if lists == times:
            file_io.after = lambda *_: None
            table.committer().commit(messages, commit_user="u")

    cleaning = late(file_io)
    file_io.after = commit
    cleaning.clean_orphans(min_age_ms=0, delete=True)

    assert lists == times
    assert (9, 9) in [row[1:3] for row in read(late(inner))]
    assert_exact(inner)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("others", ["commit", "compact", "tag-and-expire", "rollback"])
def test_no_reachable_file_is_deleted_whatever_runs_at_the_same_time(others: str) -> None:
    given = MemoryFileIO()
    given_history(given)
    late(given).create_tag("three", snapshot_id=3)
    put(given, "bucket-0/data-x-0.parquet")
    acts: dict[str, Callable[[Table], object]] = {
        "commit": lambda table: write(table, (9, 9)),
        "compact": lambda table: table.compact(),
        "tag-and-expire": tag_and_expire,
        "rollback": lambda table: table.rollback(tag="three"),
    }

    def clean(table: Table) -> object:
        return table.clean_orphans(min_age_ms=0, delete=True)

    for at in moments(sweep(given, clean).calls):
        inner = copied(given)
        file_io = FaultyFileIO(inner)
        cleaning = late(file_io)
        start = len(file_io.calls) + at

        def act(number: int, *_: str, start: int = start, inner: MemoryFileIO = inner) -> None:
            if number == start:
                acts[others](late(inner))

        file_io.before = act
        clean(cleaning)

        assert missing_files(inner, late(inner)) == set(), at
        late(inner).scan().to_arrow()
        late(inner).scan(at=ReadAt(tag="three")).to_arrow()


def tag_and_expire(table: Table) -> None:
    table.create_tag("two", snapshot_id=2)
    expire_all_but(table, 1)


def test_a_snapshot_whose_expiry_was_interrupted_does_not_stop_it() -> None:
    """As the format's own engine leaves it: manifests first, the snapshot last."""
    file_io = MemoryFileIO()
    table = given_history(file_io)
    snapshot = SnapshotStore(file_io, table.paths).get(1)
    file_io.delete(table.paths.manifest(snapshot.base_manifest_list))
    put(file_io, "bucket-0/data-x-0.parquet")

    report = late(file_io).clean_orphans(min_age_ms=0, delete=True)

    assert [file.path for file in report.files] == [f"{PATH}/bucket-0/data-x-0.parquet"]
    assert len(read(late(file_io), 2)) == 2
    assert len(read(late(file_io))) == 4


def damage_newest(file_io: MemoryFileIO, paths: TablePaths) -> None:
    newest = SnapshotStore(file_io, paths).get(5)
    file_io.delete(paths.manifest(newest.delta_manifest_list))


def damage_tag(file_io: MemoryFileIO, paths: TablePaths) -> None:
    tagged = TagStore(file_io, paths).get("three").snapshot
    expire_all_but(late(file_io), 1)
    file_io.delete(paths.manifest(tagged.base_manifest_list))


def tear_tag(file_io: MemoryFileIO, paths: TablePaths) -> None:
    file_io.overwrite(paths.tag("three"), b"{")


def tear_snapshot(file_io: MemoryFileIO, paths: TablePaths) -> None:
    file_io.overwrite(paths.snapshot(2), b"")


@pytest.mark.parametrize("damage", [damage_newest, damage_tag, tear_tag, tear_snapshot])
def test_nothing_is_deleted_where_reachable_files_are_unknown(
    damage: Callable[[MemoryFileIO, TablePaths], None],
) -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("three", snapshot_id=3)
    put(file_io, *STRAY)
    damage(file_io, table.paths)
    before = stored_files(file_io, PATH)

    with pytest.raises(CorruptData):
        late(file_io).clean_orphans(min_age_ms=0, delete=True)
    assert stored_files(file_io, PATH) == before


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [
        lambda table: write(table, (9, 9)),
        lambda table: table.compact(),
        lambda table: expire_all_but(table, 1),
    ],
    ids=["write", "compact", "expire"],
)
def test_every_file_left_by_a_process_that_died_is_found(act: Callable[[Table], object]) -> None:
    given = MemoryFileIO()
    given_history(given)
    write(late(given), (6, 6))
    leftovers = 0
    for end in sweep(given, act).deaths():
        inner = end.file_io
        before = read(late(inner))
        leftovers += len(unneeded_files(inner, late(inner)))

        assert_cleaned_exact(inner)

        assert read(late(inner)) == before
    assert leftovers > 0


def given_strays() -> MemoryFileIO:
    given = MemoryFileIO()
    given_history(given)
    put(given, *STRAY)
    return given


def clean(table: Table) -> object:
    return table.clean_orphans(delete=True)


@pytest.mark.sweep
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_at_any_call_of_the_cleaning(is_done: bool, is_lasting: bool) -> None:
    for end in sweep(given_strays(), clean).failures(is_done=is_done, is_lasting=is_lasting):
        assert missing_files(end.file_io, late(end.file_io)) == set()
        clean(late(end.file_io))
        assert_exact(end.file_io)


@pytest.mark.sweep
def test_the_process_dies_at_any_call_of_the_cleaning() -> None:
    for end in sweep(given_strays(), clean).deaths():
        assert missing_files(end.file_io, late(end.file_io)) == set()
        clean(late(end.file_io))
        assert_exact(end.file_io)


def given_branch(file_io: MemoryFileIO, *, snapshot_id: int) -> None:
    paths = late(file_io).paths
    branch = replace(paths, branch="b")
    data = file_io.read_bytes(paths.snapshot(snapshot_id))
    file_io.write_new(branch.snapshot(snapshot_id), data)
    file_io.write_new(branch.schema(0), file_io.read_bytes(paths.schema(0)))
