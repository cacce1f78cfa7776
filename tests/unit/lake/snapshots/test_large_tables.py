"""Of a large table only what a bucket needs is read: calls and bytes are counted."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from braid.lake import Catalog, MemoryFileIO, Table
from braid.lake.files.paths import is_sorted_manifest
from braid.lake.format.binary_row import EMPTY_ROW, encode_rows
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.format.statistics import ReducedStats, SimpleStats
from braid.lake.read.predicate import Condition
from braid.lake.snapshots import live_files
from tests.support.committing import data_file
from tests.support.faulty_file_io import FaultyFileIO

BUCKETS, COMMITS, COLUMNS = 16, 12, 130
FAR = 1 << 40


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_files, "LARGE_ENTRIES", 100)


def stored(commits: int) -> MemoryFileIO:
    """Return a table of `BUCKETS` times `commits` files with statistics of many columns, and none of the files."""
    file_io = MemoryFileIO()
    table = Catalog("/wh", file_io=file_io).create_table(
        "db.t",
        columns=[("id", "BIGINT"), *((f"c{n}", "BIGINT") for n in range(COLUMNS))],
        primary_key=["id"],
        options={"bucket": str(BUCKETS), "manifest.target-file-size": "8 kb"},
    )
    committer = table.committer()
    for number in range(commits):
        messages = [
            message(bucket, file_of(table, f"{bucket}-{number}", number))
            for bucket in range(BUCKETS)
        ]
        committer.commit(messages, commit_user=f"u{number}")
    # Compactions, not appends, divide the manifests by bucket.
    replaced = message(0, file_of(table, "0-0", 0))
    renamed = replace(replaced.new_files[0], file_name="0-compacted")
    compaction = replace(
        replaced, new_files=(), compact_before=replaced.new_files, compact_after=(renamed,)
    )
    committer.commit([compaction], commit_user="c", kind=CommitKind.COMPACT)
    return file_io


@pytest.fixture(scope="module")
def storage() -> MemoryFileIO:
    return stored(COMMITS)


def file_of(table: Table, name: str, number: int) -> DataFileMeta:
    rows = [pa.array([number], pa.int64())] * (COLUMNS + 1)
    (row,) = encode_rows(rows, table.schema.fields)
    counts = tuple(10 if column % 2 else number % 10 for column in range(COLUMNS + 1))
    stats = SimpleStats(min_values=row, max_values=row, null_counts=counts)
    low = number * 100
    return data_file(name, low=low, high=low + 9, level=5, value_stats=stats, value_stats_cols=None)


def message(bucket: int, file: DataFileMeta) -> CommitMessage:
    return CommitMessage(
        partition=EMPTY_ROW,
        bucket=bucket,
        total_buckets=BUCKETS,
        schema_id=0,
        new_files=(file,),
    )


@pytest.fixture
def counting(storage: MemoryFileIO) -> FaultyFileIO:
    return FaultyFileIO(storage)


@pytest.fixture
def table(counting: FaultyFileIO) -> Table:
    return Table.open("/wh/db.db/t", file_io=counting)


def manifests_read(counting: FaultyFileIO) -> list[str]:
    return [
        path
        for method, path in counting.calls
        if method == "read_bytes" and "/manifest-" in path and "list" not in path
    ]


def newest(table: Table) -> Snapshot:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot


def keys() -> Iterator[dict[str, int]]:
    return ({"id": FAR + number} for number in range(10_000))


def test_a_lookup_reads_the_manifests_of_its_bucket(table: Table, counting: FaultyFileIO) -> None:
    everything = len(table._opened.store.manifests.read_list(newest(table).base_manifest_list))
    counting.calls.clear()

    assert table.get(next(keys())) is None

    assert 0 < len(manifests_read(counting)) <= everything // 2


def test_lookups_read_a_manifest_once(table: Table, counting: FaultyFileIO) -> None:
    for key in list(keys())[:100]:
        table.get(key)
    times = Counter(manifests_read(counting))
    assert max(times.values()) == 1
    assert all(map(is_sorted_manifest, times))
    counting.calls.clear()

    table.get({"id": FAR + 101})

    assert manifests_read(counting) == []


def test_a_lookup_of_one_bucket_has_the_files_of_the_whole_state(table: Table) -> None:
    live, snapshot = table._opened.store.live, newest(table)
    alone = live.of_buckets(snapshot, {(EMPTY_ROW, 3)})

    whole = [entry for entry in live.entries(snapshot) if entry.bucket == 3]

    assert sorted(e.file.file_name for e in alone) == sorted(e.file.file_name for e in whole)
    assert len(alone) == COMMITS


def test_statistics_are_reduced_and_read_when_they_are_needed(table: Table) -> None:
    entries = table._opened.live_entries(newest(table))
    entry = next(e for e in entries if e.file.file_name == "3-7")
    assert isinstance(entry.file.value_stats, ReducedStats)
    assert entry.file.value_stats.null_counts[:4] == (None, 10, None, 10)

    (whole,) = table._opened.whole([entry])

    assert whole.identity == entry.identity
    assert whole.file == file_of(table, "3-7", 7)
    assert table._opened.whole([whole]) == [whole]


def test_a_scan_by_values_prunes_as_in_a_small_table(table: Table) -> None:
    where = [Condition(column="c5", op=">=", value=8)]

    plan = table.scan(where=where).plan()

    assert (plan.files_total, plan.files_read) == (BUCKETS * COMMITS, BUCKETS * (COMMITS - 8))


def test_files_that_are_not_live_any_more_are_left_out(table: Table) -> None:
    entries = list(table._opened.live_entries(newest(table)))
    gone = data_file("gone", level=5, value_stats=entries[0].file.value_stats)

    assert len(table._opened.whole(entries[:2])) == 2
    assert table._opened.whole([replace(entries[0], file=gone)]) == []


def test_a_compaction_commit_reads_the_manifests_of_its_bucket() -> None:
    commits = 8
    counting = FaultyFileIO(stored(commits))
    table = Table.open("/wh/db.db/t", file_io=counting)
    entry = table._opened.store.live.of_buckets(newest(table), {(EMPTY_ROW, 3)})[0]
    (whole,) = table._opened.whole([entry])
    fresh = Table.open("/wh/db.db/t", file_io=counting)
    counting.calls.clear()

    change = CommitMessage(
        partition=EMPTY_ROW,
        bucket=3,
        total_buckets=BUCKETS,
        schema_id=0,
        new_files=(),
        compact_before=(whole.file,),
    )
    fresh.committer().commit([change], commit_user="c", kind=CommitKind.COMPACT)

    everything = len(fresh._opened.store.manifests.read_list(newest(fresh).base_manifest_list))
    assert 0 < len(set(manifests_read(counting))) <= everything // 2
    assert len(fresh.live_files(newest(fresh))) == BUCKETS * commits - 1
