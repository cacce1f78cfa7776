"""Every answer of storage, and a missing one, leads to one certain outcome or to a reported doubt."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from braid.lake.commit.publisher import PublishOutcome, SnapshotPublisher
from braid.lake.commit.steps import ignore_step
from braid.lake.errors import CommitUnknown, StorageUnavailable
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.snapshot import Snapshot, serialize_snapshot
from braid.lake.snapshots.lineage import lineage_properties
from braid.lake.snapshots.removed_history import RemovedHistory
from braid.lake.snapshots.rollback_marker import RollbackMarker
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import given_table
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.foreign_engine import commit_foreign


class Bed:
    """Two snapshots, and a third that is to be published."""

    def __init__(self) -> None:
        self.inner = MemoryFileIO()
        self.paths = given_table(self.inner)
        commit_foreign(self.inner, self.paths)
        self.previous = commit_foreign(self.inner, self.paths)
        self.mine = replace(self.previous, id=3, uuid="mine")
        self.file_io = FaultyFileIO(self.inner)
        self.pauses: list[int] = []
        self.publisher = SnapshotPublisher(
            self.file_io,
            self.paths,
            on_step=ignore_step,
            pause=self.pauses.append,
            lookups_max=3,
            removed=RemovedHistory(self.file_io, self.paths),
        )

    def publish(self) -> PublishOutcome:
        return self.publisher.publish(self.mine, previous=self.previous)

    def put(self, snapshot: Snapshot) -> None:
        self.inner.overwrite(self.paths.snapshot(snapshot.id), serialize_snapshot(snapshot))

    def ids(self) -> list[int]:
        return SnapshotStore(self.inner, self.paths).list_ids()

    def hint(self) -> bytes:
        return self.inner.read_bytes(self.paths.latest_hint)

    def fail(self, method: str, *, is_done: bool, times: int = 99) -> None:
        left = times

        def fault(number: int, called: str, path: str) -> None:
            nonlocal left
            if called == method and left:
                left -= 1
                message = "no answer"
                raise StorageUnavailable(message)

        if is_done:
            self.file_io.after = fault
        else:
            self.file_io.before = fault


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_a_free_id_is_taken(bed: Bed) -> None:
    assert bed.publish() is PublishOutcome.PUBLISHED
    assert SnapshotStore(bed.inner, bed.paths).get(3) == bed.mine


def test_the_usual_case_lists_nothing(bed: Bed) -> None:
    bed.publish()

    methods = [method for method, _ in bed.file_io.calls]
    assert methods == ["create_exclusive", "exists", "read_bytes", "read_bytes"]


def test_a_taken_id_is_lost(bed: Bed) -> None:
    commit_foreign(bed.inner, bed.paths, uuid="theirs")

    assert bed.publish() is PublishOutcome.LOST


def test_a_refusal_of_our_own_file_is_success(bed: Bed) -> None:
    """A store gives this answer when it repeats a request whose first answer was lost."""
    bed.put(bed.mine)

    assert bed.publish() is PublishOutcome.PUBLISHED


def test_a_race_against_an_unreadable_snapshot_is_lost(bed: Bed) -> None:
    bed.inner.write_new(bed.paths.snapshot(3), b"{")

    assert bed.publish() is PublishOutcome.LOST


@pytest.mark.parametrize("is_done", [True, False])
def test_one_lost_answer_is_found_out(bed: Bed, is_done: bool) -> None:
    bed.fail("create_exclusive", is_done=is_done, times=1)

    assert bed.publish() is PublishOutcome.PUBLISHED
    assert bed.ids() == [1, 2, 3]


def test_a_creation_that_is_never_answered_is_unknown(bed: Bed) -> None:
    bed.fail("create_exclusive", is_done=False)

    with pytest.raises(CommitUnknown, match="no definite answer to its creation"):
        bed.publish()
    assert bed.pauses == [1, 2, 3]


def test_a_read_that_is_never_answered_is_unknown(bed: Bed) -> None:
    bed.fail("read_bytes", is_done=False)

    with pytest.raises(CommitUnknown, match="does not answer"):
        bed.publish()
    assert bed.ids() == [1, 2, 3]


def test_reads_are_repeated(bed: Bed) -> None:
    bed.fail("read_bytes", is_done=False, times=2)

    assert bed.publish() is PublishOutcome.PUBLISHED
    assert bed.pauses == [1, 2]


def test_the_newest_snapshot_is_in_the_chain_whatever_expired_below(bed: Bed) -> None:
    for number in (1, 2):
        bed.inner.delete(bed.paths.snapshot(number))

    assert bed.publish() is PublishOutcome.PUBLISHED


def without_what_it_followed(bed: Bed, *above: Snapshot) -> PublishOutcome:
    for snapshot in above:
        bed.put(snapshot)
    for number in (1, 2):
        bed.inner.delete(bed.paths.snapshot(number))
    return bed.publish()


def test_a_snapshot_below_one_without_lineage_is_in_doubt(bed: Bed) -> None:
    above = replace(bed.previous, id=4)

    assert without_what_it_followed(bed, above) is PublishOutcome.IN_DOUBT


def test_below_a_gap_is_no_part_of_the_chain(bed: Bed) -> None:
    above = replace(bed.previous, id=9)

    assert without_what_it_followed(bed, above) is PublishOutcome.DETACHED


def test_below_one_that_followed_another_is_no_part_of_the_chain(bed: Bed) -> None:
    another = replace(bed.mine, delta_manifest_list="another")
    above = replace(bed.previous, id=4, properties=lineage_properties(another))

    assert without_what_it_followed(bed, above) is PublishOutcome.DETACHED


def test_below_those_that_were_built_on_it_is_part_of_the_chain(bed: Bed) -> None:
    first = replace(
        bed.mine, id=4, delta_manifest_list="4", properties=lineage_properties(bed.mine)
    )
    second = replace(bed.mine, id=5, properties=lineage_properties(first))

    assert without_what_it_followed(bed, first, second) is PublishOutcome.PUBLISHED


def test_all_above_have_to_be_built_on_it(bed: Bed) -> None:
    """The hole ends where the next snapshot was built on another one."""
    first = replace(
        bed.mine, id=4, delta_manifest_list="4", properties=lineage_properties(bed.mine)
    )
    second = replace(bed.mine, id=5, properties=lineage_properties(bed.mine))

    assert without_what_it_followed(bed, first, second) is PublishOutcome.DETACHED


def overtaken_while(bed: Bed, listing: Callable[[], None]) -> tuple[Snapshot, Snapshot]:
    """Return the two snapshots above ours: both come after it, the first by `listing`, after the directory was listed."""
    first = replace(
        bed.mine, id=4, delta_manifest_list="4", properties=lineage_properties(bed.mine)
    )
    second = replace(bed.mine, id=5, properties=lineage_properties(first))

    def before(number: int, called: str, path: str) -> None:
        if called == "read_bytes" and path == bed.paths.latest_hint:
            bed.put(second)
            bed.inner.overwrite(bed.paths.latest_hint, b"5")

    def after(number: int, called: str, path: str) -> None:
        if called == "list":
            listing()

    bed.file_io.before, bed.file_io.after = before, after
    return first, second


def test_a_snapshot_that_a_listing_misses_is_no_hole(bed: Bed) -> None:
    """Entries of a directory come in no order of time: the later of two new ones may be listed alone."""
    first, _ = overtaken_while(bed, listing=lambda: bed.put(first))

    assert bed.publish() is PublishOutcome.PUBLISHED


def test_the_gap_of_a_rollback_that_begins_meanwhile_is_no_hole(bed: Bed) -> None:
    marker = RollbackMarker(bed.inner, bed.paths)
    _, second = overtaken_while(bed, listing=lambda: marker.put(target=bed.mine, newest=second))

    assert bed.publish() is PublishOutcome.PUBLISHED


def test_another_snapshot_in_place_of_the_previous_one_is_no_proof(bed: Bed) -> None:
    """Two paused writers can fill two neighbouring holes."""
    bed.put(replace(bed.previous, uuid="another sleeper's"))
    bed.put(replace(bed.previous, id=9))

    assert bed.publish() is PublishOutcome.DETACHED


def test_a_missing_snapshot_below_the_newest_is_gone_after_an_unanswered_creation(bed: Bed) -> None:
    bed.put(replace(bed.previous, id=9))
    bed.fail("create_exclusive", is_done=False)
    for number in (1, 2):
        bed.inner.delete(bed.paths.snapshot(number))

    assert bed.publish() is PublishOutcome.GONE


def test_only_our_own_snapshot_is_taken_back(bed: Bed) -> None:
    bed.put(replace(bed.mine, uuid="theirs"))
    bed.publisher.take_back(bed.mine)
    assert bed.ids() == [1, 2, 3]

    bed.put(bed.mine)
    bed.publisher.take_back(bed.mine)
    assert bed.ids() == [1, 2]

    bed.publisher.take_back(bed.mine)
    assert bed.ids() == [1, 2]


def test_hints_point_at_the_published_snapshot(bed: Bed) -> None:
    bed.put(bed.mine)

    bed.publisher.write_hints(bed.mine)

    assert bed.hint() == b"3"
    assert not bed.inner.exists(bed.paths.earliest_hint)


def test_a_newer_hint_is_left_alone(bed: Bed) -> None:
    bed.put(bed.mine)
    commit_foreign(bed.inner, bed.paths)

    bed.publisher.write_hints(bed.mine)

    assert bed.hint() == b"4"


def test_a_hint_into_the_void_is_mended(bed: Bed) -> None:
    bed.put(bed.mine)
    bed.inner.overwrite(bed.paths.latest_hint, b"99")

    bed.publisher.write_hints(bed.mine)

    assert bed.hint() == b"3"


def test_a_hint_at_a_snapshot_that_expired_meanwhile_is_mended(bed: Bed) -> None:
    bed.put(replace(bed.previous, id=9))
    bed.inner.overwrite(bed.paths.latest_hint, b"x")

    bed.publisher.write_hints(bed.mine)

    assert bed.hint() == b"9"


def test_hints_may_fail(bed: Bed) -> None:
    bed.put(bed.mine)
    bed.fail("overwrite", is_done=False)

    bed.publisher.write_hints(bed.mine)

    assert bed.hint() == b"2"


def test_a_commit_planned_on_a_removed_snapshot_is_in_doubt(bed: Bed) -> None:
    bed.inner.delete(bed.paths.snapshot(2))

    assert bed.publish() is PublishOutcome.IN_DOUBT


def test_a_commit_planned_on_a_removed_and_replaced_snapshot_is_in_doubt(bed: Bed) -> None:
    bed.put(replace(bed.previous, uuid="after the rollback"))

    assert bed.publish() is PublishOutcome.IN_DOUBT


def test_a_commit_whose_elders_have_all_expired_stands(bed: Bed) -> None:
    bed.inner.delete(bed.paths.snapshot(1))
    bed.inner.delete(bed.paths.snapshot(2))

    assert bed.publish() is PublishOutcome.PUBLISHED
