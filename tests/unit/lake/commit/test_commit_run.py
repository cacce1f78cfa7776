"""Races: a writer that pauses between two steps, while others commit and expire, loses nothing.

The other writers run inside the hook of the step, so every interleaving is exact and repeatable.
"""

from collections.abc import Callable
from typing import Any

import pytest

from braid.lake.commit.commit_result import CommitResult, Outcome
from braid.lake.commit.committer import TableCommitter
from braid.lake.commit.retry_policy import RetryPolicy
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.errors import (
    CommitConflict,
    CommitUnknown,
    CorruptData,
    InvalidRequest,
    OffsetMismatch,
    StorageUnavailable,
    StreamFenced,
)
from braid.lake.files.clock import ManualClock
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.table.table import Table
from tests.support.committing import (
    TOPIC,
    TOPIC_ID,
    appended,
    compacted,
    data_file,
    given_table,
    live_names,
    new_committer,
    referenced_manifests,
    stored_manifests,
    stream_batch,
    table_schema,
)
from tests.support.faulty_file_io import Died, FaultyFileIO
from tests.support.foreign_engine import commit_foreign, expire

STEPS = [
    f"{moment} {name}"
    for name in (
        "plan",
        "write-manifest",
        "write-manifest-list",
        "create-snapshot",
        "verify-snapshot",
        "write-hint",
    )
    for moment in ("before", "after")
]


class Bed:
    """A table with three commits, a committer that can be paused, and other committers."""

    def __init__(self) -> None:
        self.file_io = MemoryFileIO()
        self.paths = given_table(self.file_io)
        self.snapshots = SnapshotStore(self.file_io, self.paths)
        self.others = new_committer(self.file_io, self.paths)
        self.expected: list[str] = []
        self.commit_others(3)

    def commit_others(self, count: int) -> None:
        for _ in range(count):
            name = f"other-{len(self.expected)}"
            self.others.commit([appended(data_file(name))], commit_user="other")
            self.expected.append(name)

    def expire_all_but_newest(self) -> None:
        newest = self.snapshots.latest_id()
        assert newest is not None
        expire(self.file_io, self.paths, keep_from=newest)

    def pausing_at(
        self,
        step: str,
        action: Callable[[], object],
        *,
        times: int = 1,
        seen: list[str] | None = None,
        **given: Any,
    ) -> TableCommitter:
        """Return a committer that calls `action` at a step, the first `times` times."""
        left = times

        def on_step(name: str) -> None:
            nonlocal left
            if seen is not None:
                seen.append(name)
            if name == step and left:
                left -= 1
                action()

        return new_committer(self.file_io, self.paths, on_step=on_step, **given)

    def commit(self, committer: TableCommitter, name: str = "mine") -> CommitResult:
        result = committer.commit(
            [appended(data_file(name))], commit_user="me", commit_identifier=1
        )
        self.expected.append(name)
        return result

    def assert_every_commit_is_there_once(self) -> None:
        assert live_names(self.file_io, self.paths) == sorted(self.expected)
        newest = self.snapshots.latest()
        assert newest is not None
        assert newest.total_record_count == 10 * len(self.expected)
        ids = self.snapshots.list_ids()
        assert ids == list(range(ids[0], ids[-1] + 1)), "the chain has no hole"


@pytest.fixture
def bed() -> Bed:
    return Bed()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("count", [1, 40])
def test_other_writers_commit_during_a_pause(bed: Bed, step: str, count: int) -> None:
    committer = bed.pausing_at(step, lambda: bed.commit_others(count))

    result = bed.commit(committer)

    assert result.outcome is Outcome.COMMITTED
    # Files that do not depend on the newest snapshot are written before it matters.
    assert result.attempts == (2 if step == "before create-snapshot" else 1)
    assert result.lost_to == ((4,) if step == "before create-snapshot" else ())
    bed.assert_every_commit_is_there_once()
    stray = stored_manifests(bed.file_io, bed.paths) - referenced_manifests(bed.file_io, bed.paths)
    assert stray == set()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("has_hint", [True, False])
def test_other_writers_commit_and_expire_during_a_pause(
    bed: Bed, step: str, has_hint: bool
) -> None:
    """Expiry opens the hole at our id; a commit published there must not vanish."""

    def commit_and_expire() -> None:
        bed.commit_others(5)
        bed.expire_all_but_newest()
        if not has_hint:
            bed.file_io.delete(bed.paths.latest_hint)
            bed.file_io.delete(bed.paths.earliest_hint)

    result = bed.commit(bed.pausing_at(step, commit_and_expire))

    assert result.outcome is Outcome.COMMITTED
    bed.assert_every_commit_is_there_once()


def test_a_snapshot_in_a_hole_is_taken_back(bed: Bed) -> None:
    steps: list[str] = []

    def commit_and_expire() -> None:
        bed.commit_others(5)
        bed.expire_all_but_newest()

    committer = bed.pausing_at("before create-snapshot", commit_and_expire, seen=steps)

    result = bed.commit(committer)

    assert (result.snapshot_id, result.attempts) == (9, 2)
    assert "after take-back-snapshot" in steps
    assert bed.snapshots.list_ids() == [8, 9]
    bed.assert_every_commit_is_there_once()


def test_no_commit_stays_that_was_built_on_a_snapshot_in_a_hole(bed: Bed) -> None:
    """The hint was read before the hole arose, and the snapshot after the hole was filled."""
    bed.others.commit([appended(data_file("dead"))], commit_user="dead")
    dead = bed.file_io.read_bytes(bed.paths.snapshot(4))
    bed.file_io.delete(bed.paths.snapshot(4))
    bed.snapshots.write_latest_hint(3)
    bed.commit_others(1)
    slow = FaultyFileIO(bed.file_io)

    def overtake(_: int, method: str, path: str) -> None:
        if (method, path) == ("read_bytes", bed.paths.snapshot(4)) and len(bed.expected) == 4:
            bed.commit_others(3)
            bed.expire_all_but_newest()
            assert bed.file_io.create_exclusive(bed.paths.snapshot(4), dead)

    slow.before = overtake
    result = bed.commit(new_committer(slow, bed.paths))

    assert (result.snapshot_id, result.attempts) == (8, 2)
    assert live_names(bed.file_io, bed.paths) == sorted(bed.expected)


def test_the_first_snapshot_can_lie_in_a_hole_too() -> None:
    bed = Bed.__new__(Bed)
    bed.file_io = MemoryFileIO()
    bed.paths = given_table(bed.file_io)
    bed.snapshots = SnapshotStore(bed.file_io, bed.paths)
    bed.others = new_committer(bed.file_io, bed.paths)
    bed.expected = []

    def commit_and_expire() -> None:
        bed.commit_others(3)
        bed.expire_all_but_newest()

    result = bed.commit(bed.pausing_at("before create-snapshot", commit_and_expire))

    assert result.snapshot_id == 4
    bed.assert_every_commit_is_there_once()


def claim_by(committer: TableCommitter, stream: str) -> StreamPosition:
    return committer.claim_stream(stream, topic=TOPIC, initial_offsets={0: 0})


@pytest.mark.parametrize("is_foreign", [False, True])
def test_the_first_snapshot_stays_where_the_second_was_built_on_it(is_foreign: bool) -> None:
    """An empty one leaves no trace in the files of those above it."""
    file_io = MemoryFileIO()
    paths = given_table(file_io)
    file = data_file("theirs")
    entry = ManifestEntry(
        kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, total_buckets=2, file=file
    )

    def on_step(name: str) -> None:
        if name != "after create-snapshot" or SnapshotStore(file_io, paths).exists(2):
            return
        if is_foreign:
            commit_foreign(file_io, paths, [entry])
        else:
            claim_by(new_committer(file_io, paths), "second")

    position = claim_by(new_committer(file_io, paths, on_step=on_step), "first")

    assert position.epoch == 1
    assert SnapshotStore(file_io, paths).list_ids() == [1, 2]
    assert "first" in new_committer(file_io, paths).stream_positions()


def test_a_claim_stays_if_all_below_it_expired_and_snapshots_were_built_on_it(bed: Bed) -> None:
    def commit_and_expire() -> None:
        bed.commit_others(2)
        for number in (1, 2, 3):
            bed.file_io.delete(bed.paths.snapshot(number))

    committer = bed.pausing_at("after create-snapshot", commit_and_expire)

    assert claim_by(committer, "s").epoch == 1
    assert bed.snapshots.list_ids() == [4, 5, 6]
    bed.assert_every_commit_is_there_once()


def broken_off_rollback(bed: Bed, *, target: int) -> None:
    """Roll the table back, and die before the newest snapshot is removed."""
    dying = FaultyFileIO(bed.file_io)

    def die(_: int, method: str, path: str) -> None:
        # Where there are streams, the newest is the rollback's own: it ends their epochs.
        if method == "delete" and path == bed.paths.snapshot(max(bed.snapshots.list_ids())):
            raise Died

    dying.before = die
    with pytest.raises(Died):
        Table.open(bed.paths.root, file_io=dying).rollback(snapshot_id=target)


@pytest.mark.parametrize("count", [2, 5], ids=["gap of one", "gap of four"])
def test_no_commit_stays_in_the_gap_of_a_rollback_that_broke_off(bed: Bed, count: int) -> None:
    """Planned on the target, which still exists, it would lie below the newest snapshot."""

    def commit_and_break_off() -> None:
        bed.commit_others(count)
        broken_off_rollback(bed, target=3)

    result = bed.commit(bed.pausing_at("before create-snapshot", commit_and_break_off))

    assert result.snapshot_id == 4 + count
    assert bed.snapshots.list_ids() == [1, 2, 3, 3 + count, 4 + count]
    bed.commit_others(1)
    assert live_names(bed.file_io, bed.paths) == sorted(bed.expected)
    assert bed.snapshots.read_hint(bed.paths.latest_hint) == max(bed.snapshots.list_ids())


@pytest.mark.parametrize("is_empty", [False, True])
@pytest.mark.parametrize("is_marked_before", [False, True])
def test_a_snapshot_that_an_interrupted_rollback_leaves_is_not_taken_back(
    bed: Bed, is_empty: bool, is_marked_before: bool
) -> None:
    """There is a gap above it, but the newest snapshot was built on it."""

    def commit_and_break_off() -> None:
        bed.commit_others(4)
        # The snapshot that it was built on expires, so that the chain above decides.
        bed.file_io.delete(bed.paths.snapshot(1))
        bed.file_io.delete(bed.paths.snapshot(2))
        bed.file_io.delete(bed.paths.snapshot(3))
        broken_off_rollback(bed, target=4)

    def look(number: int, method: str, path: str) -> None:
        del number
        if (method, path) == ("exists", bed.paths.rollback_marker) and bed.snapshots.exists(3):
            commit_and_break_off()

    file_io = FaultyFileIO(bed.file_io)
    if is_marked_before:
        committer = bed.pausing_at("after create-snapshot", commit_and_break_off)
    else:
        file_io.after = look
        committer = new_committer(file_io, bed.paths)
    if is_empty:
        assert claim_by(committer, "s").epoch == 1
    else:
        assert bed.commit(committer).snapshot_id == 4

    assert bed.snapshots.list_ids() == [4, 9 if is_empty else 8]
    assert live_names(bed.file_io, bed.paths) == sorted(bed.expected)


def test_a_commit_that_is_repeated_when_its_snapshot_has_expired_is_not_made_again(
    bed: Bed,
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    committer = bed.pausing_at("after create-snapshot", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bed.commit(committer)
    merging = compacted((data_file("mine"),), (data_file("merged"),))
    bed.others.commit([merging], commit_user="compaction", kind=CommitKind.COMPACT)
    bed.expire_all_but_newest()

    with pytest.raises(
        CommitUnknown, match="the snapshots below 5, which would show that commit, are gone"
    ):
        bed.commit(committer)

    assert live_names(bed.file_io, bed.paths) == sorted([*bed.expected, "merged"])


@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_snapshot_in_a_hole_is_no_commit_that_was_made_before(bed: Bed, is_foreign: bool) -> None:
    """Its writer died before it deleted the snapshot, and commits again."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    def commit_and_expire() -> None:
        bed.commit_others(2)
        if is_foreign:
            bed.file_io.delete(bed.paths.snapshot(5))
            bed.expected.pop()
            bed.snapshots.write_latest_hint(4)
            commit_foreign(bed.file_io, bed.paths)
        bed.expire_all_but_newest()

    steps = {"before create-snapshot": commit_and_expire, "after create-snapshot": interrupt}
    died = new_committer(
        bed.file_io, bed.paths, on_step=lambda name: steps.get(name, lambda: None)()
    )
    with pytest.raises(KeyboardInterrupt):
        bed.commit(died)
    assert bed.snapshots.list_ids() == [4, 5]

    result = bed.commit(new_committer(bed.file_io, bed.paths))

    assert (result.outcome, result.snapshot_id) == (Outcome.COMMITTED, 6)
    assert live_names(bed.file_io, bed.paths) == sorted(bed.expected)


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_commit_in_the_gap_of_a_rollback_is_none_that_was_made_before(
    bed: Bed, is_stream: bool
) -> None:
    """A writer that died has left a hint that names a snapshot below the gap, which seems to be the newest."""
    batch = stream_batch({0: 0}, {0: 10})
    claim_by(bed.others, "s")

    def commit(committer: TableCommitter) -> CommitResult:
        if is_stream:
            return committer.commit_stream_batch([appended(data_file("mine"))], batch)
        return bed.commit(committer)

    def interrupt() -> None:
        raise KeyboardInterrupt

    bed.commit_others(2)
    broken_off_rollback(bed, target=4)
    bed.snapshots.write_latest_hint(4)
    died = bed.pausing_at("after create-snapshot", interrupt)
    with pytest.raises(KeyboardInterrupt):
        commit(died)
    assert bed.snapshots.list_ids() == [1, 2, 3, 4, 5, 7]

    again = new_committer(bed.file_io, bed.paths)
    if is_stream:
        with pytest.raises(StreamFenced):
            commit(again)
    else:
        assert commit(again).outcome is Outcome.COMMITTED

    assert bed.snapshots.read_hint(bed.paths.latest_hint) == (7 if is_stream else 8)
    assert live_names(bed.file_io, bed.paths) == sorted(bed.expected)


@pytest.mark.parametrize("dies", [False, True])
def test_positions_of_a_snapshot_in_a_hole_are_not_believed(bed: Bed, dies: bool) -> None:
    """Another engine has no positions, so the search for them walks down from its snapshots."""
    claimed = bed.others.claim_stream("s", topic=TOPIC, initial_offsets={0: 0})
    seen: list[dict[str, StreamPosition]] = []

    def commit_and_expire() -> None:
        for _ in range(2):
            newest = commit_foreign(bed.file_io, bed.paths)
        expire(bed.file_io, bed.paths, keep_from=newest.id)

    def look() -> None:
        assert bed.snapshots.list_ids() == [5, 6]
        seen.append(bed.others.stream_positions())
        if dies:
            raise KeyboardInterrupt

    steps = {"before create-snapshot": commit_and_expire, "after create-snapshot": look}
    sleeper = new_committer(
        bed.file_io, bed.paths, on_step=lambda name: steps.pop(name, lambda: None)()
    )
    batch = stream_batch({0: 0}, {0: 10}, epoch=claimed.epoch, topic_id="")
    with pytest.raises(KeyboardInterrupt if dies else OffsetMismatch):
        sleeper.commit_stream_batch([appended(data_file("mine"))], batch)

    assert seen == [{}]
    with pytest.raises(InvalidRequest, match="position is not known"):
        bed.others.claim_stream("s", topic=TOPIC, initial_offsets={0: 0})
    assert live_names(bed.file_io, bed.paths) == bed.expected


def test_positions_that_expire_while_they_are_looked_for_are_looked_for_again(bed: Bed) -> None:
    """The walk down from another engine's snapshot comes too late, but the newest snapshot has them by now."""
    claimed = claim_by(bed.others, "s")
    commit_foreign(bed.file_io, bed.paths)
    slow = FaultyFileIO(bed.file_io)

    def overtake(_: int, method: str, path: str) -> None:
        if (method, path) == ("read_bytes", bed.paths.snapshot(4)):
            bed.commit_others(1)
            bed.expire_all_but_newest()

    slow.before = overtake

    assert new_committer(slow, bed.paths).stream_positions() == {"s": claimed}


def test_a_hint_that_was_written_late_leads_no_commit_into_the_gap_of_a_rollback(bed: Bed) -> None:
    def commit_and_break_off() -> None:
        bed.commit_others(5)
        broken_off_rollback(bed, target=4)

    # Snapshot 4 is of the target's writer, which paused before it wrote its hint.
    bed.commit(bed.pausing_at("before write-hint", commit_and_break_off))

    bed.commit_others(1)
    assert bed.snapshots.list_ids() == [1, 2, 3, 4, 9, 10]
    assert bed.snapshots.latest_id() == 10
    assert live_names(bed.file_io, bed.paths) == sorted(bed.expected)


class SleptOverRollback:
    """A commit that is planned on snapshot 5, and pauses until the table is rolled back to 3.

    The rollback dies after it has removed the newest snapshot and before it writes `LATEST`.

    Attributes:
        bed: The table, which is of five snapshots before.
    """

    def __init__(self, bed: Bed, while_there: Callable[[], object]) -> None:
        """Make it.

        Args:
            bed: The table.
            while_there: Called while the snapshot of the paused writer exists.
        """
        self.bed = bed
        bed.commit_others(2)
        self._steps: dict[str, Callable[[], object]] = {
            "before create-snapshot": self.begin_rollback,
            "after create-snapshot": while_there,
        }

    def begin_rollback(self) -> None:
        def die(_: int, method: str, path: str) -> None:
            if (method, path) == ("overwrite", self.bed.paths.latest_hint):
                raise Died

        file_io = FaultyFileIO(self.bed.file_io)
        file_io.before = die
        with pytest.raises(Died):
            Table.open(self.bed.paths.root, file_io=file_io).rollback(snapshot_id=3)

    def table(self) -> Table:
        return Table.open(self.bed.paths.root, file_io=self.bed.file_io)

    def commit(self) -> CommitResult:
        def on_step(name: str) -> None:
            self._steps.pop(name, lambda: None)()

        committer = new_committer(self.bed.file_io, self.bed.paths, on_step=on_step)
        return self.bed.commit(committer)

    def assert_as_at_target(self, *later: str) -> None:
        found = live_names(self.bed.file_io, self.bed.paths)
        assert found == sorted([*self.bed.expected[:3], *later])
        ids = self.bed.snapshots.list_ids()
        assert ids == list(range(1, len(ids) + 1))


def test_nothing_is_built_on_a_commit_that_slept_over_a_rollback(bed: Bed) -> None:
    """It is the newest for a while, and would bring back the removed history."""

    def commit_on_it() -> None:
        assert bed.snapshots.list_ids() == [1, 2, 3, 6]
        with pytest.raises(CommitConflict, match="that a rollback has removed"):
            new_committer(bed.file_io, bed.paths).commit(
                [appended(data_file("on-it"))], commit_user="other"
            )

    slept = SleptOverRollback(bed, commit_on_it)

    assert slept.commit().snapshot_id == 4

    slept.assert_as_at_target("mine")
    assert new_committer(bed.file_io, bed.paths).claim_stream(
        "s", topic=TOPIC, initial_offsets={0: 0}
    )
    slept.assert_as_at_target("mine")


def test_a_second_rollback_removes_a_commit_that_died_after_the_first_one(bed: Bed) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    slept = SleptOverRollback(bed, die)
    with pytest.raises(KeyboardInterrupt):
        slept.commit()
    with pytest.raises(CommitConflict, match="roll the table back once more, to the same snapshot"):
        claim_by(new_committer(bed.file_io, bed.paths), "s")

    slept.table().rollback(snapshot_id=3)

    slept.assert_as_at_target()
    assert claim_by(new_committer(bed.file_io, bed.paths), "s").epoch == 1


def test_nothing_expires_below_a_commit_that_slept_over_a_rollback(bed: Bed) -> None:
    """It will be removed, and then nothing would be left of the table."""
    bed.commit_others(3)
    path, target = bed.paths.snapshot(6), bed.paths.snapshot(3)
    slept = bed.file_io.read_bytes(path)
    bed.file_io.delete(path)
    bed.snapshots.write_latest_hint(5)

    def wake_up(_: int, method: str, called_for: str) -> None:
        # The rollback has found nothing above its target any more.
        if (method, called_for) == ("read_bytes", target) and not bed.snapshots.exists(5):
            bed.file_io.create_exclusive(path, slept)

    file_io = FaultyFileIO(bed.file_io)
    file_io.before = wake_up
    Table.open(bed.paths.root, file_io=file_io).rollback(snapshot_id=3)
    assert bed.snapshots.latest_id() == 6

    table = Table.open(bed.paths.root, file_io=bed.file_io)
    table.expire(retain_min=1, retain_max=1, older_than_ms=1 << 60)

    assert bed.snapshots.list_ids() == [1, 2, 3, 6]


def test_sleeping_again_and_again_only_costs_attempts(bed: Bed) -> None:
    def commit_and_expire() -> None:
        bed.commit_others(2)
        bed.expire_all_but_newest()

    committer = bed.pausing_at("before create-snapshot", commit_and_expire, times=10)

    result = bed.commit(committer)

    assert result.attempts == 11
    assert result.wait_ms > 0
    bed.assert_every_commit_is_there_once()


def test_a_lost_race_reuses_the_written_manifests(bed: Bed) -> None:
    steps: list[str] = []
    committer = bed.pausing_at(
        "before create-snapshot", lambda: bed.commit_others(1), times=4, seen=steps
    )

    result = bed.commit(committer)

    assert result.attempts == 5
    assert steps.count("before write-manifest") == 1
    assert steps.count("before write-manifest-list") == 1 + 5


def test_merged_manifests_are_reused_after_a_lost_race(bed: Bed) -> None:
    bed.commit_others(33)  # the next commit merges
    steps: list[str] = []
    committer = bed.pausing_at(
        "before create-snapshot",
        lambda: commit_foreign(bed.file_io, bed.paths),
        times=3,
        seen=steps,
    )

    result = bed.commit(committer)

    newest = bed.snapshots.get(result.snapshot_id)
    base = ManifestStore(bed.file_io, bed.paths).read_list(newest.base_manifest_list)
    assert result.attempts == 4
    assert steps.count("before write-manifest") == 2, "the delta and one merged manifest"
    assert len(base) == 1
    bed.assert_every_commit_is_there_once()


def test_a_lost_race_walks_through_the_history_of_another_engine_once(bed: Bed) -> None:
    foreign = [commit_foreign(bed.file_io, bed.paths) for _ in range(20)]
    counting = FaultyFileIO(bed.file_io)

    def lose(number: int, method: str, path: str) -> None:
        if method == "create_exclusive" and number < 200:
            commit_foreign(bed.file_io, bed.paths)

    counting.before = lose
    committer = new_committer(counting, bed.paths)

    result = committer.commit([appended(data_file("mine"))], commit_user="me")

    assert result.attempts > 5
    walked = [path for method, path in counting.calls if method == "read_bytes"]
    assert walked.count(bed.paths.snapshot(foreign[0].id)) == 1


def test_a_manifest_merge_that_another_commit_has_done_is_dropped(bed: Bed) -> None:
    bed.commit_others(31)

    result = bed.commit(bed.pausing_at("before create-snapshot", lambda: bed.commit_others(60)))

    newest = bed.snapshots.get(result.snapshot_id)
    base = ManifestStore(bed.file_io, bed.paths).read_list(newest.base_manifest_list)
    assert len(base) <= 40
    bed.assert_every_commit_is_there_once()
    stray = stored_manifests(bed.file_io, bed.paths) - referenced_manifests(bed.file_io, bed.paths)
    assert stray == set()


def test_a_schema_change_while_we_sleep_is_a_conflict(bed: Bed) -> None:
    def change() -> None:
        SchemaStore(bed.file_io, bed.paths).create(table_schema(schema_id=1))
        bed.others.commit([], commit_user="other", allow_empty=True)

    with pytest.raises(CommitConflict, match="schema 0, but the newest schema is 1"):
        bed.commit(bed.pausing_at("before create-snapshot", change))

    bed.assert_every_commit_is_there_once()
    stray = stored_manifests(bed.file_io, bed.paths) - referenced_manifests(bed.file_io, bed.paths)
    assert stray == set()


def test_a_compaction_that_lost_its_inputs_yields(bed: Bed) -> None:
    def compact(committer: TableCommitter, name: str) -> None:
        committer.commit(
            [compacted((data_file("other-0"),), (data_file(name, level=5),))],
            commit_user=name,
            kind=CommitKind.COMPACT,
        )

    sleeper = bed.pausing_at("before create-snapshot", lambda: compact(bed.others, "first"))

    with pytest.raises(CommitConflict, match="not live any more"):
        compact(sleeper, "second")

    assert live_names(bed.file_io, bed.paths) == ["first", "other-1", "other-2"]


def test_losing_forever_is_a_conflict_and_leaves_nothing(bed: Bed) -> None:
    committer = bed.pausing_at(
        "before create-snapshot",
        lambda: bed.commit_others(1),
        times=99,
        policy=RetryPolicy(attempts_max=7),
    )

    with pytest.raises(CommitConflict, match="all 7 attempts to commit lost the race"):
        bed.commit(committer)

    bed.assert_every_commit_is_there_once()
    stray = stored_manifests(bed.file_io, bed.paths) - referenced_manifests(bed.file_io, bed.paths)
    assert stray == set()


def test_attempts_end_at_the_deadline(bed: Bed) -> None:
    clock = ManualClock()

    def slow() -> None:
        clock.advance(ms=60_000)
        bed.commit_others(1)

    committer = bed.pausing_at("before create-snapshot", slow, times=99, clock=clock)

    with pytest.raises(CommitConflict, match="all 10 attempts to commit lost the race"):
        bed.commit(committer)


# The answer of the creation is lost


class LosingAnswers:
    """Storage that creates a snapshot, calls a hook, and reports a failure."""

    def __init__(self, bed: Bed, then: Callable[[], None], *, times: int = 1) -> None:
        self.file_io = FaultyFileIO(bed.file_io)
        self._then = then
        self._left = times
        self.file_io.after = self._after

    def _after(self, number: int, method: str, path: str) -> None:
        if method == "create_exclusive" and "/snapshot-" in path and self._left:
            self._left -= 1
            self._then()
            message = "the answer was lost"
            raise StorageUnavailable(message)


def commit_losing(
    bed: Bed, then: Callable[[], None], *, times: int = 1
) -> Callable[[], CommitResult]:
    committer = new_committer(LosingAnswers(bed, then, times=times).file_io, bed.paths)
    return lambda: bed.commit(committer)


def test_a_lost_answer_is_found_out(bed: Bed) -> None:
    result = commit_losing(bed, lambda: None)()

    assert (result.snapshot_id, result.attempts, result.outcome) == (4, 1, Outcome.COMMITTED)
    bed.assert_every_commit_is_there_once()


def test_a_lost_answer_is_found_out_below_newer_snapshots(bed: Bed) -> None:
    result = commit_losing(bed, lambda: bed.commit_others(3))()

    assert (result.snapshot_id, result.attempts) == (4, 1)
    bed.assert_every_commit_is_there_once()


def test_a_lost_answer_is_found_out_from_live_files_after_expiry(bed: Bed) -> None:
    def commit_and_expire() -> None:
        bed.commit_others(3)
        bed.expire_all_but_newest()

    result = commit_losing(bed, commit_and_expire)()

    assert (result.snapshot_id, result.outcome) == (4, Outcome.COMMITTED)
    bed.assert_every_commit_is_there_once()


def damage(bed: Bed, snapshot_id: int) -> None:
    bed.file_io.overwrite(bed.paths.snapshot(snapshot_id), b"{")


def test_a_snapshot_above_a_damaged_one_keeps_its_manifests(bed: Bed) -> None:
    """It is the newest, so it is published; the snapshot that it was planned on no longer matters."""
    committer = bed.pausing_at("before verify-snapshot", lambda: damage(bed, 3))

    result = bed.commit(committer)

    assert (result.snapshot_id, result.outcome) == (4, Outcome.COMMITTED)
    bed.assert_every_commit_is_there_once()


def test_a_snapshot_that_a_newer_one_was_built_on_is_published_above_a_damaged_one(
    bed: Bed,
) -> None:
    def damage_below_others() -> None:
        bed.commit_others(2)
        damage(bed, 3)

    committer = bed.pausing_at("before verify-snapshot", damage_below_others)

    assert bed.commit(committer).snapshot_id == 4
    bed.assert_every_commit_is_there_once()


def test_a_snapshot_between_a_damaged_one_and_another_engines_is_unknown(bed: Bed) -> None:
    def damage_below_others() -> None:
        commit_foreign(bed.file_io, bed.paths)
        damage(bed, 3)

    committer = bed.pausing_at("before verify-snapshot", damage_below_others)

    with pytest.raises(CommitUnknown, match="snapshot 4 of `me` may or may not be published"):
        bed.commit(committer)

    bed.expected.append("mine")
    bed.assert_every_commit_is_there_once()


@pytest.mark.parametrize("error", [CorruptData("damaged"), OSError("no answer")])
def test_whatever_fails_after_a_snapshot_was_created_nothing_is_cleaned(
    bed: Bed, error: Exception
) -> None:
    def fail() -> None:
        raise error

    committer = bed.pausing_at("after verify-snapshot", fail)

    with pytest.raises(CommitUnknown, match=f"may or may not be published: {error}"):
        bed.commit(committer)

    bed.expected.append("mine")
    bed.assert_every_commit_is_there_once()


def test_a_lost_answer_without_a_trace_is_unknown(bed: Bed) -> None:
    """The files were compacted away and the snapshot expired: the outcome is unknown for ever."""

    def compact_and_expire() -> None:
        bed.others.commit(
            [compacted((data_file("mine"),), (data_file("compacted", level=5),))],
            commit_user="compactor",
            kind=CommitKind.COMPACT,
        )
        bed.commit_others(1)
        bed.expire_all_but_newest()

    with pytest.raises(CommitUnknown, match="none of its files is live"):
        commit_losing(bed, compact_and_expire)()

    assert "compacted" in live_names(bed.file_io, bed.paths)


def test_another_snapshot_under_a_lost_answer_is_a_lost_race(bed: Bed) -> None:
    """The creation fails without effect, and another snapshot takes the id before it is read."""
    file_io = FaultyFileIO(bed.file_io)
    left = 1

    def before(number: int, method: str, path: str) -> None:
        nonlocal left
        if method == "create_exclusive" and left:
            left -= 1
            bed.commit_others(1)
            message = "no connection"
            raise StorageUnavailable(message)

    file_io.before = before
    result = bed.commit(new_committer(file_io, bed.paths))

    assert (result.snapshot_id, result.attempts) == (5, 2)
    bed.assert_every_commit_is_there_once()


def test_a_creation_that_failed_undone_is_repeated_under_the_same_id(bed: Bed) -> None:
    file_io = FaultyFileIO(bed.file_io)
    left = 3

    def before(number: int, method: str, path: str) -> None:
        nonlocal left
        if method == "create_exclusive" and left:
            left -= 1
            message = "no connection"
            raise OSError(message)

    file_io.before = before
    result = bed.commit(new_committer(file_io, bed.paths))

    assert (result.snapshot_id, result.attempts) == (4, 1)
    bed.assert_every_commit_is_there_once()


def test_a_creation_that_is_never_answered_is_unknown_and_nothing_is_cleaned(bed: Bed) -> None:
    file_io = FaultyFileIO(bed.file_io)

    def before(number: int, method: str, path: str) -> None:
        if method == "create_exclusive":
            message = "no connection"
            raise StorageUnavailable(message)

    file_io.before = before
    committer = new_committer(file_io, bed.paths)

    with pytest.raises(CommitUnknown, match="same identity"):
        bed.commit(committer)
    stray = stored_manifests(bed.file_io, bed.paths) - referenced_manifests(bed.file_io, bed.paths)
    assert len(stray) == 3


def test_a_batch_after_an_unknown_outcome_is_looked_for(bed: Bed) -> None:
    """Batches are not searched for in general, because their users are unique."""
    file_io = FaultyFileIO(bed.file_io)
    committer = new_committer(file_io, bed.paths)
    messages = [appended(data_file("mine"))]

    def after(number: int, method: str, path: str) -> None:
        if file_io.calls.count(("create_exclusive", bed.paths.snapshot(4))):
            message = "no connection"
            raise StorageUnavailable(message)

    file_io.after = after
    with pytest.raises(CommitUnknown):
        committer.commit(messages, commit_user="batch-1")
    file_io.after = lambda *_: None
    bed.expected.append("mine")

    result = committer.commit(messages, commit_user="batch-1")

    assert (result.outcome, result.snapshot_id) == (Outcome.REPLAYED, 4)
    bed.assert_every_commit_is_there_once()


# Streams


def claim(file_io: MemoryFileIO | FaultyFileIO, paths: TablePaths) -> StreamPosition:
    return new_committer(file_io, paths).claim_stream(
        "s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0}
    )


def test_a_claim_while_a_batch_is_written_fences_it(bed: Bed) -> None:
    claim(bed.file_io, bed.paths)
    committer = bed.pausing_at("before create-snapshot", lambda: claim(bed.file_io, bed.paths))

    with pytest.raises(StreamFenced):
        committer.commit_stream_batch([appended(data_file("mine"))], stream_batch({0: 0}, {0: 10}))

    bed.assert_every_commit_is_there_once()
    stray = stored_manifests(bed.file_io, bed.paths) - referenced_manifests(bed.file_io, bed.paths)
    assert stray == set()


def test_the_same_batch_twice_at_once_is_applied_once(bed: Bed) -> None:
    claim(bed.file_io, bed.paths)
    batch = stream_batch({0: 0}, {0: 10})

    def commit_twin() -> None:
        bed.others.commit_stream_batch([appended(data_file("twin"))], batch)
        bed.expected.append("twin")

    result = bed.pausing_at("before create-snapshot", commit_twin).commit_stream_batch(
        [appended(data_file("mine"))], batch
    )

    assert result.outcome is Outcome.REPLAYED
    bed.assert_every_commit_is_there_once()


def test_two_claims_at_once_get_two_epochs(bed: Bed) -> None:
    epochs: list[int] = []
    committer = bed.pausing_at(
        "before create-snapshot",
        lambda: epochs.append(claim(bed.file_io, bed.paths).epoch),
    )

    position = committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})

    assert [*epochs, position.epoch] == [1, 2]
    assert bed.others.stream_positions()["s"].epoch == 2


def test_a_stream_finds_a_lost_answer_by_its_offsets(bed: Bed) -> None:
    """Neither the snapshot nor its files are left, but the offsets show that it was committed."""
    claim(bed.file_io, bed.paths)

    def compact_and_expire() -> None:
        bed.others.commit(
            [compacted((data_file("mine"),), (data_file("compacted", level=5),))],
            commit_user="compactor",
            kind=CommitKind.COMPACT,
        )
        bed.commit_others(1)
        bed.expire_all_but_newest()

    losing = LosingAnswers(bed, compact_and_expire)
    result = new_committer(losing.file_io, bed.paths).commit_stream_batch(
        [appended(data_file("mine"))], stream_batch({0: 0}, {0: 10})
    )

    assert result.outcome is Outcome.REPLAYED
    bed.expected.append("compacted")
    bed.assert_every_commit_is_there_once()


def test_a_claim_whose_answer_is_lost_for_good_is_made_again(bed: Bed) -> None:
    def commit_and_expire() -> None:
        bed.commit_others(2)
        bed.expire_all_but_newest()

    losing = LosingAnswers(bed, commit_and_expire)

    assert claim(losing.file_io, bed.paths).epoch == 2
    bed.assert_every_commit_is_there_once()


def test_a_snapshot_right_below_the_oldest_is_a_hole_too(bed: Bed) -> None:
    """Our id has a successor, but one that was built on another writer's snapshot of that id."""

    def commit_and_expire() -> None:
        bed.commit_others(2)
        bed.expire_all_but_newest()

    result = bed.commit(bed.pausing_at("before create-snapshot", commit_and_expire))

    assert bed.snapshots.list_ids() == [5, 6]
    assert result.snapshot_id == 6
    bed.assert_every_commit_is_there_once()


@pytest.mark.parametrize("step", ["before create-snapshot", "after create-snapshot"])
def test_a_claim_beside_expiry_is_in_the_table(bed: Bed, step: str) -> None:
    """An empty commit leaves no file to recognise it by; claiming again is the safe answer."""

    def commit_and_expire() -> None:
        bed.commit_others(2)
        bed.expire_all_but_newest()

    position = bed.pausing_at(step, commit_and_expire).claim_stream(
        "s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0}
    )

    assert bed.others.stream_positions() == {"s": position}
    bed.assert_every_commit_is_there_once()
