"""`Table.expire`: snapshots and files that go, those that stay, and why."""

from dataclasses import replace

import pytest

from braid.lake import ExpiryResult, InvalidRequest, MemoryFileIO, ReadAt, Table, UnsupportedFeature
from braid.lake.commit.streams.position_hold import HOLD_ID
from braid.lake.commit.streams.stream_position import StreamPosition, position_properties
from braid.lake.errors import CorruptData
from braid.lake.format.snapshot import serialize_snapshot
from braid.lake.snapshots.consumer_store import LEASE_MS_MAX, ConsumerStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.unit.lake.maintenance.given_compactions import read, rows, stored_data_files, write
from tests.unit.lake.maintenance.given_expiries import (
    HOUR_MS,
    expire_all,
    given_aging_table,
    given_history,
    histories,
    kept_ids,
    needed,
    stored,
)


def test_a_table_without_snapshots_has_nothing_to_expire() -> None:
    table, _ = given_aging_table()

    assert expire_all(table) == ExpiryResult()


def test_the_newest_snapshot_is_never_expired() -> None:
    table, _ = given_history()
    before = read(table)

    result = expire_all(table)

    assert (result.snapshots, result.earliest) == ((1, 2, 3, 4, 5, 6, 7), 8)
    assert result.held_by == "the newest 1 stay"
    assert kept_ids(table) == [8]
    assert read(table) == before
    assert stored(table) == needed(table)


def test_options_decide_by_default() -> None:
    table, _ = given_history({"snapshot.time-retained": "3 h", "snapshot.num-retained.min": "2"})

    result = table.expire()

    # 6 was the newest until 7 came, two hours ago and a little; 5 until 6 came, three hours ago.
    assert (result.snapshots, result.held_by) == ((1, 2, 3, 4), "it is too young")


def test_no_snapshot_expires_while_there_are_no_more_than_the_minimum() -> None:
    table, _ = given_history()  # ten stay by default
    before = stored(table)

    assert table.expire() == ExpiryResult(earliest=1, held_by="the newest 10 stay")
    assert stored(table) == before


def test_snapshots_above_the_maximum_expire_although_they_are_young() -> None:
    table, _ = given_history({"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "3"})

    assert table.expire(older_than_ms=0).snapshots == (1, 2, 3, 4, 5)


def test_one_run_removes_no_more_than_its_limit_and_the_next_continues() -> None:
    table, _ = given_history({"snapshot.expire.limit": "3"})

    runs = [expire_all(table).snapshots for _ in range(4)]

    assert runs == [(1, 2, 3), (4, 5, 6), (7,), ()]
    assert stored(table) == needed(table)


def test_every_remaining_snapshot_can_be_read() -> None:
    for stays in range(1, 9):
        table, _ = given_history()
        before = histories(table)

        table.expire(retain_max=9 - stays, older_than_ms=0)

        assert histories(table) == {n: rows for n, rows in before.items() if n >= stays}
        assert stored(table) == needed(table)


def test_deleted_files_are_counted() -> None:
    table, _ = given_history()
    before = stored(table)

    result = expire_all(table)

    gone = before - stored(table)
    data = {name for name in gone if name.startswith("data-")}
    assert (result.data_files, result.metadata_files) == (len(data), len(gone - data))
    assert result.data_bytes > 0


def test_a_file_that_was_only_moved_to_another_level_stays() -> None:
    table, _ = given_aging_table()
    write(table, (1, 1))
    table.compact()
    before = stored_data_files(table.file_io)
    write(table, (2, 2))

    expire_all(table)

    assert before < stored_data_files(table.file_io)
    assert read(table) == [("x", 1, 1, None), ("x", 2, 2, None)]


def test_a_dry_run_removes_nothing() -> None:
    table, _ = given_history()
    before = stored(table), kept_ids(table)

    result = table.expire(retain_max=2, older_than_ms=0, dry_run=True)

    assert (result.snapshots, result.earliest, result.data_files) == ((1, 2, 3, 4, 5, 6), 7, 0)
    assert (stored(table), kept_ids(table)) == before


def test_hints_follow() -> None:
    table, _ = given_history()
    store = SnapshotStore(table.file_io, table.paths)
    store.write_latest_hint(3)  # a writer that was slow with it

    table.expire(retain_max=2)

    assert store.read_hint(table.paths.earliest_hint) == 7
    assert store.read_hint(table.paths.latest_hint) == 8
    assert (store.earliest_id(), store.latest_id()) == (7, 8)


def test_a_missing_hint_of_the_oldest_is_written_though_nothing_expires() -> None:
    table, _ = given_history()
    table.file_io.delete(table.paths.earliest_hint)

    table.expire()

    assert table.file_io.read_bytes(table.paths.earliest_hint) == b"1"


def test_a_latest_hint_above_the_expired_snapshots_stays() -> None:
    table, _ = given_history()
    store = SnapshotStore(table.file_io, table.paths)
    store.write_latest_hint(7)

    table.expire(retain_max=2)

    assert store.read_hint(table.paths.latest_hint) == 7


def test_numbers_that_contradict_each_other_are_refused() -> None:
    table, _ = given_history()

    with pytest.raises(InvalidRequest, match="retain_max") as refused:
        table.expire(retain_min=3, retain_max=2)

    assert refused.value.table == "db.t"
    assert kept_ids(table) == list(range(1, 9))


def test_writers_continue_beside_expiry() -> None:
    table, _ = given_history()
    writer = table.writer()
    writer.write(rows((5, 50)))
    message = writer.prepare_commit().messages

    expire_all(table)
    table.committer().commit(message, commit_user="slow", commit_identifier=1)

    assert kept_ids(table) == [8, 9]
    assert ("x", 5, 50, None) in read(table)


# Holds


def test_a_consumer_keeps_snapshots_that_it_has_not_read() -> None:
    table, _ = given_history()
    table.reset_consumer("reports", 4)

    result = expire_all(table)

    assert (result.earliest, result.held_by) == (4, "consumer reports continues there")
    table.delete_consumer("reports")
    assert expire_all(table).earliest == 8


def test_a_consumer_that_is_not_renewed_is_deleted() -> None:
    table, clock = given_history({"consumer.expiration-time": "1 h"})
    table.reset_consumer("reports", 4)
    (consumer,) = table.consumers()
    clock.advance(ms=consumer.modified_ms + HOUR_MS - clock.now_ms())

    assert expire_all(table).earliest == 4
    clock.advance(ms=1)
    result = expire_all(table)

    assert (result.consumers, result.earliest) == (("reports",), 8)
    assert table.consumers() == []


def test_without_the_option_a_consumer_holds_for_ever() -> None:
    table, clock = given_history()
    table.reset_consumer("reports", 4)
    clock.advance(ms=1 << 50)

    assert expire_all(table).earliest == 4


def test_consumers_of_changelogs_hold_no_snapshots_but_leases_do() -> None:
    table, _ = given_history({"consumer.changelog-only": "true"})
    table.reset_consumer("reports", 2)
    lease = table.lease(5)

    assert expire_all(table).earliest == 5
    lease.release()
    assert expire_all(table).earliest == 8


def test_tags_keep_their_files() -> None:
    for tagged in range(1, 9):
        for other in (None, 3, 6):
            table, _ = given_history()
            before = histories(table)
            table.create_tag("a", snapshot_id=tagged)
            if other is not None:
                table.create_tag("b", snapshot_id=other)

            expire_all(table)

            assert kept_ids(table) == [8]
            fresh = Table.open(table.path, file_io=table.file_io)
            by_tag = fresh.scan(at=ReadAt(tag="a")).to_arrow().to_pylist()
            assert sorted((tuple(row.values()) for row in by_tag), key=repr) == before[tagged]
            assert stored(table) == needed(table)


def test_tags_that_are_deleted_between_expiries_leave_nothing() -> None:
    table, _ = given_history()
    table.create_tag("a", snapshot_id=2)
    table.create_tag("b", snapshot_id=5)
    table.expire(retain_max=4)
    table.delete_tag("a")
    assert stored(table) == needed(table)
    expire_all(table)
    assert stored(table) == needed(table)

    table.delete_tag("b")

    assert stored(table) == needed(table)


def test_a_tag_whose_manifests_are_gone_stops_everything() -> None:
    table, _ = given_history()
    tag = table.create_tag("a", snapshot_id=2)
    table.expire(retain_max=4)
    table.file_io.delete(table.paths.manifest(tag.snapshot.base_manifest_list))
    fresh = Table.open(table.path, file_io=table.file_io)

    with pytest.raises(CorruptData, match="tag-a refers to a manifest that does not exist"):
        expire_all(fresh)

    assert kept_ids(table) == [5, 6, 7, 8]


def test_a_branch_keeps_its_files() -> None:
    table, _ = given_history()
    before = histories(table)
    given_branch(table, snapshot_id=3)

    expire_all(table)

    branch = Table.open(table.path, file_io=table.file_io).branch("b")
    assert read(branch) == before[3]
    assert stored(table) == needed(table)
    with pytest.raises(UnsupportedFeature, match="branch"):
        branch.expire()


def given_branch(table: Table, *, snapshot_id: int) -> None:
    """Create a branch at a snapshot as other engines do: by a copy of the snapshot and of the schema."""
    branch = f"{table.path}/branch/branch-b"
    for name in (f"snapshot/snapshot-{snapshot_id}", "schema/schema-0"):
        data = table.file_io.read_bytes(f"{table.path}/{name}")
        table.file_io.write_new(f"{branch}/{name}", data)


def test_positions_of_streams_do_not_expire_below_snapshots_of_other_engines() -> None:
    table, _ = given_history()
    store = SnapshotStore(table.file_io, table.paths)
    # As if another engine had committed all snapshots after 3, which has the state of a stream.
    position = StreamPosition(
        stream="s", epoch=1, topic="t", topic_id="", offsets={0: 5}, batch_id=0, commit_time_ms=1
    )
    properties = position_properties({"s": position})
    for number in range(3, 9):
        set_properties(table, number, properties if number == 3 else {})

    planned = table.expire(retain_min=1, retain_max=1, dry_run=True)

    assert planned.earliest == 3
    assert "positions of streams" in planned.held_by
    # An expiry that may act carries them forward by an empty commit, and moves the hold for other engines.
    assert expire_all(table).earliest == 9
    assert store.list_ids() == [9]
    assert table.committer().stream_positions() == {"s": position}
    held = ConsumerStore(table.file_io, table.paths).find(HOLD_ID)
    assert held is not None
    assert held.next_snapshot == 9


def set_properties(table: Table, number: int, properties: dict[str, str]) -> None:
    changed = replace(table.snapshot(number), properties=properties)
    table.file_io.overwrite(table.paths.snapshot(number), serialize_snapshot(changed))


# Other processes at work


def test_concurrent_expiries_remove_exactly_the_files_that_are_not_needed() -> None:
    table, _ = given_history()
    other = Table.open(table.path, file_io=table.file_io)
    # The other expiry removes up to 4 while this one is about to remove 1.
    file_io = table.file_io
    assert isinstance(file_io, MemoryFileIO)

    other.expire(retain_max=5)
    result = expire_all(table)

    assert result.snapshots == (4, 5, 6, 7)
    assert stored(table) == needed(table)


def test_an_interrupted_expiry_of_another_engine_is_finished() -> None:
    table, _ = given_history()
    first = table.snapshot(1)
    # It deletes manifests before snapshots, and died in between.
    for name in (first.base_manifest_list, first.delta_manifest_list):
        table.file_io.delete(table.paths.manifest(name))
    fresh = Table.open(table.path, file_io=table.file_io)

    result = expire_all(fresh)

    assert result.earliest == 8
    assert kept_ids(table) == [8]
    assert read(fresh) == histories(table)[8]


def test_a_gap_that_a_rollback_left_is_passed_over() -> None:
    table, _ = given_history()
    for number in (5, 6):
        table.file_io.delete(table.paths.snapshot(number))

    result = expire_all(table)

    assert result.snapshots == (1, 2, 3, 4, 7)
    assert needed(table) <= stored(table)
    assert kept_ids(table) == [8]


def test_damage_in_a_remaining_snapshot_stops_expiry_before_any_deletion() -> None:
    table, _ = given_history()
    path = table.paths.manifest(table.snapshot(3).delta_manifest_list)
    table.file_io.overwrite(path, b"rubbish")
    fresh = Table.open(table.path, file_io=table.file_io)

    with pytest.raises(CorruptData):
        expire_all(fresh)

    assert kept_ids(table) == list(range(2, 9))


@pytest.mark.parametrize("data", [b"", b'{"nextSna', b"\0\0"])
@pytest.mark.parametrize("name", ["braid-lease-x", "flink-job", " a name of others\n"])
def test_an_unreadable_consumer_keeps_everything_for_a_day_and_then_nothing(
    name: str, data: bytes
) -> None:
    table, clock = given_history()
    table.file_io.overwrite(table.paths.consumer(name), data)
    (file,) = table.consumers()
    clock.advance(ms=file.modified_ms + LEASE_MS_MAX - clock.now_ms())

    held = expire_all(table)
    clock.advance(ms=1)
    done = expire_all(table)

    assert (held.snapshots, held.consumers) == ((), ())
    assert str(held.held_by).startswith(f"the file of consumer {name} cannot be read")
    assert (done.snapshots, done.consumers) == ((1, 2, 3, 4, 5, 6, 7), (name,))
    assert table.consumers() == []


def test_an_unreadable_mark_stops_neither_leases_nor_expiry() -> None:
    table, _ = given_history()
    table.file_io.overwrite(table.paths.expiring("dead"), b"")

    table.lease().release()
    done = expire_all(table)

    assert done.snapshots == (1, 2, 3, 4, 5, 6, 7)
    assert not table.file_io.exists(table.paths.expiring("dead"))


@pytest.mark.parametrize("data", [b"", b"\0\0", b"9" * 5_000, "٣".encode(), b"-1"])
def test_an_unreadable_hint_is_no_hint(data: bytes) -> None:
    table, _ = given_history()
    for path in (table.paths.latest_hint, table.paths.earliest_hint):
        table.file_io.overwrite(path, data)

    assert SnapshotStore(table.file_io, table.paths).latest_id() == 8
    assert expire_all(table).earliest == 8
