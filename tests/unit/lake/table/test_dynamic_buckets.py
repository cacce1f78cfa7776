"""Tables with dynamic buckets: a key stays in the bucket that it was first routed to."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    CommitConflict,
    CorruptData,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    Outcome,
    SchemaMismatch,
    StorageUnavailable,
    Table,
    UnsupportedFeature,
)
from braid.lake.format.indexes.hash_index import decode_hash_index
from tests.support.committing import referenced_manifests, stored_manifests
from tests.support.faulty_file_io import FaultyFileIO

DELETE = 3


def given_table(
    options: Mapping[str, str] | None = None,
    *,
    partition: Sequence[str] = (),
    key: str = "k",
    file_io: MemoryFileIO | None = None,
) -> Table:
    """Return an empty table (k, p, v) in memory with room for three keys in a bucket."""
    storage = file_io or MemoryFileIO()
    catalog = Catalog("/wh", file_io=storage, clock=ManualClock(), random=random.Random(1))
    return catalog.create_table(
        "db.t",
        columns=[("k", "INT"), ("p", "INT"), ("v", "INT")],
        primary_key=key.split(),
        partition_keys=partition,
        options={"bucket": "-1", "dynamic-bucket.target-row-num": "3", **(options or {})},
    )


def batch(keys: Sequence[int], *, v: int = 0, p: int = 0) -> pa.Table:
    """Return a row for each key."""
    count = len(keys)
    columns = {"k": list(keys), "p": [p] * count, "v": [v] * count}
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def values_of(table: Table, at: int | None = None) -> dict[int, int]:
    """Return v by key; each key once."""
    rows = table.scan(at=at).to_arrow().to_pylist()
    found = {row["k"]: row["v"] for row in rows}
    assert len(found) == len(rows)
    return found


def buckets_of(table: Table) -> dict[int, int]:
    """Return how many keys the index has in each bucket; every file is of an indexed bucket."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    entries = table._opened.indexes_of(snapshot)
    for entry in entries:
        data = table.file_io.read_bytes(table.paths.index(entry.file_name))
        assert len(decode_hash_index(data)) == entry.row_count
        assert len(data) == entry.file_size
    found = {entry.bucket: entry.row_count for entry in entries}
    live = table.live_files(snapshot)
    assert {entry.bucket for entry in live} == set(found)
    assert {entry.total_buckets for entry in live} == {-1}
    return found


def test_a_table_without_a_bucket_count_creates_buckets() -> None:
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock())
    table = catalog.create_table("db.t", columns=[("k", "INT")], primary_key=["k"])
    table.write_and_commit(pa.table({"k": [1, 2]}))

    assert buckets_of(table) == {0: 2}
    assert table.scan().count() == 2


def test_keys_fill_buckets_and_stay_in_them() -> None:
    table = given_table()
    table.write_and_commit(batch(range(4), v=1))
    assert buckets_of(table) == {0: 3, 1: 1}

    table.write_and_commit(batch(range(2, 8), v=2))
    table.write_and_commit(batch([7, 0], v=3))

    assert buckets_of(table) == {0: 3, 1: 3, 2: 2}
    assert values_of(table) == {0: 3, 1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 3}
    assert values_of(table, at=1) == dict.fromkeys(range(4), 1)


def test_columns_of_one_row_are_merged_in_whichever_bucket_it_is() -> None:
    table = given_table({"merge-engine": "partial-update"})
    table.write_and_commit(pa.table({"k": list(range(9)), "p": [5] * 9}))
    table.write_and_commit(pa.table({"k": list(reversed(range(9))), "v": [6] * 9}))

    assert table.scan().to_arrow().sort_by("k").to_pylist() == [
        {"k": key, "p": 5, "v": 6} for key in range(9)
    ]


def test_a_row_is_found_by_its_key_in_any_bucket() -> None:
    table = given_table()
    table.write_and_commit(batch(range(20)))
    table.write_and_commit(batch(range(20), v=7))
    table.write_and_commit(batch([5]), kinds=pa.array([DELETE], pa.int8()))

    found = [table.get({"k": key}, columns=["v"]) for key in range(21)]
    assert found == [None if key in (5, 20) else {"v": 7} for key in range(21)]


def test_partitions_have_buckets_of_their_own() -> None:
    table = given_table(partition=["p"], key="k p")
    table.write_and_commit(pa.concat_tables([batch(range(4), p=1), batch(range(2), p=2)]))
    table.write_and_commit(batch(range(4), p=2, v=9))

    snapshot = table.latest_snapshot()
    assert snapshot is not None
    counts = Counter({entry.partition: 0 for entry in table._opened.indexes_of(snapshot)})
    for entry in table._opened.indexes_of(snapshot):
        counts[entry.partition] += entry.row_count
    assert sorted(counts.values()) == [4, 4]
    rows = {(row["k"], row["p"]): row["v"] for row in table.scan().to_arrow().to_pylist()}
    assert rows == {**{(k, 1): 0 for k in range(4)}, **{(k, 2): 9 for k in range(4)}}


def test_a_writer_continues_after_a_commit() -> None:
    table = given_table()
    writer, committer = table.writer(), table.committer()
    for value in range(3):
        writer.write(batch([value, value + 1, 50], v=value))
        writer.flush()
        writer.write(batch([value + 2], v=value))
        committer.commit(writer.prepare_commit().messages, commit_user="u")

    assert values_of(table) == {0: 0, 1: 1, 2: 2, 3: 2, 4: 2, 50: 2}
    assert buckets_of(table) == {0: 3, 1: 3}


def test_the_second_of_two_writers_conflicts_and_leaves_no_file() -> None:
    table = given_table()
    table.write_and_commit(batch([1, 2]))
    writers = [table.writer(), table.writer()]
    # The first puts key 4 into bucket 1, the second would put it into bucket 0.
    writers[0].write(batch([3, 4], v=1))
    writers[1].write(batch([4, 3], v=2))
    results = [writer.prepare_commit() for writer in writers]
    table.committer().commit(results[0].messages, commit_user="u")

    with pytest.raises(CommitConflict, match="new writer"):
        table.committer().commit(results[1].messages, commit_user="v")
    table.delete_uncommitted(results[1].messages)

    assert values_of(table) == {1: 0, 2: 0, 3: 1, 4: 1}
    names = {status.name for status in table.file_io.list(f"{table.path}/index")}
    snapshots = [table.snapshot(number) for number in (1, 2)]
    indexes = [entry for snapshot in snapshots for entry in table._opened.indexes_of(snapshot)]
    assert names == {entry.file_name for entry in indexes}
    assert stored_manifests(table.file_io, table.paths) == referenced_manifests(
        table.file_io, table.paths
    )


def test_writers_of_known_keys_do_not_conflict() -> None:
    table = given_table()
    table.write_and_commit(batch(range(5)))
    writers = [table.writer(), table.writer()]
    for number, writer in enumerate(writers):
        writer.write(batch([number], v=number + 1))
    for writer in writers:
        table.committer().commit(writer.prepare_commit().messages, commit_user="u")

    assert values_of(table) == {0: 1, 1: 2, 2: 0, 3: 0, 4: 0}


def test_abort_deletes_index_files_that_were_not_handed_over() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(batch([1]))
    writer.flush()
    list(writer._messages())  # what `prepare_commit` does before it hands anything over
    assert table.file_io.list(f"{table.path}/index")

    writer.abort()

    assert table.file_io.list(f"{table.path}/index") == []


def test_compaction_leaves_keys_in_their_buckets() -> None:
    table = given_table()
    table.write_and_commit(batch(range(10)))
    table.write_and_commit(batch(range(5, 15), v=1))
    before = buckets_of(table)
    expected = values_of(table)

    table.compact()

    assert buckets_of(table) == before
    assert values_of(table) == expected
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert len(table.live_files(snapshot)) == len(before)
    table.write_and_commit(batch([0, 14], v=2))
    assert values_of(table) == {**expected, 0: 2, 14: 2}


def test_a_compaction_and_a_writer_do_not_disturb_each_other() -> None:
    table = given_table()
    table.write_and_commit(batch(range(4)))
    table.write_and_commit(batch(range(4), v=1))
    writer = table.writer()
    writer.write(batch([0, 9], v=2))
    table.compact()
    table.committer().commit(writer.prepare_commit().messages, commit_user="u")

    assert values_of(table) == {0: 2, 1: 1, 2: 1, 3: 1, 9: 2}


def test_keys_stay_indexed_when_their_rows_are_gone() -> None:
    table = given_table()
    table.write_and_commit(batch(range(3)))
    table.write_and_commit(batch([0]), kinds=pa.array([DELETE], pa.int8()))
    table.compact()
    table.write_and_commit(batch([7, 0], v=1))

    assert buckets_of(table) == {0: 3, 1: 1}
    assert values_of(table) == {0: 1, 1: 0, 2: 0, 7: 1}


def test_more_keys_than_the_allowed_buckets_have_room_for_are_spread() -> None:
    table = given_table({"dynamic-bucket.max-buckets": "2"})
    table.write_and_commit(batch(range(20)))
    table.write_and_commit(batch(range(20), v=1))

    assert buckets_of(table) == {0: 10, 1: 10}
    assert values_of(table) == dict.fromkeys(range(20), 1)


def test_files_whose_rows_no_index_routed_are_refused() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(batch([1]))
    messages = [
        type(message)(
            partition=message.partition,
            bucket=message.bucket,
            total_buckets=-1,
            schema_id=0,
            new_files=message.new_files,
        )
        for message in writer.prepare_commit().messages
    ]

    with pytest.raises(InvalidRequest, match="without the index"):
        table.committer().commit(messages, commit_user="u")


def test_refused_rows_do_not_change_the_index() -> None:
    table = given_table()
    with pytest.raises(SchemaMismatch):
        table.write_and_commit(pa.table({"k": pa.array([None], pa.int32())}))

    assert table.write_and_commit(batch([])).outcome is Outcome.EMPTY
    assert table.file_io.list(f"{table.path}/index") == []


@pytest.mark.parametrize("damage", ["absent", "short", "torn"])
def test_a_damaged_index_stops_the_writer(damage: str) -> None:
    table = given_table()
    table.write_and_commit(batch([1, 2]))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table._opened.indexes_of(snapshot)
    path = table.paths.index(entry.file_name)
    data = table.file_io.read_bytes(path)
    table.file_io.delete(path)
    if damage != "absent":
        table.file_io.write_new(path, data[:4] if damage == "short" else data[:5])

    with pytest.raises(CorruptData, match=entry.file_name):
        table.write_and_commit(batch([3]))
    assert values_of(table) == {1: 0, 2: 0}


def test_rows_that_would_move_between_partitions_are_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="add the partition columns to the primary key"):
        given_table(partition=["p"], key="k")


@pytest.mark.parametrize("seed", range(6))
def test_any_history_gives_each_key_its_newest_value(seed: int) -> None:
    chance = random.Random(seed)
    table = given_table({"dynamic-bucket.target-row-num": str(chance.choice([1, 4, 50]))})
    expected: dict[int, int] = {}
    for value in range(12):
        keys = [chance.randrange(40) for _ in range(chance.randrange(1, 15))]
        table.write_and_commit(batch(keys, v=value))
        expected |= dict.fromkeys(keys, value)
        if chance.random() < 0.2:
            table.compact()

        assert values_of(table) == expected
    assert sum(buckets_of(table).values()) == len(expected)


@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
def test_storage_fails_at_any_call_of_a_write(*, is_done: bool) -> None:
    """The table is as before or as after; written again, no key is in it twice."""
    number, outcomes = 0, set()
    while "untouched" not in outcomes:
        inner = MemoryFileIO()
        table = given_table(file_io=inner)
        table.write_and_commit(batch([1, 2, 3, 4]))
        before, after = values_of(table), {1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1}
        faulty = FaultyFileIO(inner)
        failing = Table.open(table.path, file_io=faulty, clock=ManualClock())
        first = len(faulty.calls) + number
        faulty.fail_calls(first, is_done=is_done, is_lasting=False)
        try:
            failing.write_and_commit(batch([4, 5, 6], v=1))
            outcomes.add("committed" if len(faulty.calls) > first else "untouched")
            assert values_of(table) == after
        except StorageUnavailable:
            outcomes.add("failed")
            assert values_of(table) == before
        table.write_and_commit(batch([4, 5, 6], v=1))
        assert values_of(table) == after
        assert sum(buckets_of(table).values()) == 6
        number += 1
    assert outcomes == {"untouched", "committed", "failed"}


@pytest.mark.parametrize("is_aborted", [False, True])
def test_an_index_that_could_not_be_written_is_written_with_the_next_commit(
    is_aborted: bool,
) -> None:
    inner = MemoryFileIO()
    given_table(file_io=inner)
    faulty = FaultyFileIO(inner)
    table = Table.open("/wh/db.db/t", file_io=faulty, clock=ManualClock())
    writer = table.writer()
    writer.write(batch([1, 2, 3, 4]))

    def refuse_indexes(_number: int, method: str, path: str) -> None:
        if method == "write_new" and "/index/" in path:
            raise StorageUnavailable(path)

    faulty.before = refuse_indexes
    with pytest.raises(StorageUnavailable):
        writer.prepare_commit()
    faulty.before = lambda *_: None
    if is_aborted:
        writer.abort()
        writer.write(batch([1, 2, 3, 4]))
    table.committer().commit(writer.prepare_commit().messages, commit_user="u")

    assert buckets_of(table) == {0: 3, 1: 1}
    table.write_and_commit(batch([4, 3, 2, 1], v=1))
    assert values_of(table) == dict.fromkeys([1, 2, 3, 4], 1)
