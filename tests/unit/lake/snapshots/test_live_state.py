"""States are derived from each other, share what has not changed, and equal the difference of ADDs and DELETEs."""

import random

from hypothesis import given, settings, strategies as st

from braid.lake.commit.commit_changes import changes_of
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.live_state import EMPTY_STATE, LiveEntries, LiveState, by_bucket
from tests.support.committing import appended, compacted, data_file


def added(*names: str, bucket: int = 0) -> list[ManifestEntry]:
    files = (data_file(name) for name in names)
    return list(changes_of([appended(*files, bucket=bucket)], CommitKind.APPEND).delta)


def deleted(*names: str, bucket: int = 0) -> list[ManifestEntry]:
    message = compacted(tuple(map(data_file, names)), (), bucket=bucket)
    return list(changes_of([message], CommitKind.COMPACT).delta)


def names(state: LiveState) -> set[str]:
    return {entry.file.file_name for entry in state.entries()}


def test_a_state_is_a_mapping_of_identities() -> None:
    state = EMPTY_STATE.after([added("a", "b"), added("c", bucket=1)])
    (entry,) = added("c", bucket=1)

    assert state[entry.identity] == entry
    assert set(state) == {e.identity for e in [*added("a", "b"), entry]}
    assert added("a", bucket=1)[0].identity not in state
    assert list(state).count(added("a", bucket=1)[0].identity) == 0
    assert len(state) == 3
    assert state.schema_ids == {0}


def test_a_later_state_leaves_the_earlier_as_it_was() -> None:
    first = EMPTY_STATE.after([added("a", "b"), added("c", bucket=1)])

    second = first.after([deleted("a", "gone"), added("d", bucket=2), deleted("c", bucket=1)])

    assert names(first) == {"a", "b", "c"}
    assert names(second) == {"b", "d"}
    assert set(second.buckets) == {(EMPTY_ROW, 0), (EMPTY_ROW, 2)}


def test_unchanged_buckets_are_shared() -> None:
    first = EMPTY_STATE.after([added("a"), added("c", bucket=1)])

    second = first.after([added("b")])

    assert second.buckets[EMPTY_ROW, 1] is first.buckets[EMPTY_ROW, 1]
    assert second.buckets[EMPTY_ROW, 0] is not first.buckets[EMPTY_ROW, 0]


def test_entries_are_a_sequence_and_grouped_without_work() -> None:
    state = EMPTY_STATE.after([added("a", "b"), added("c", bucket=1)])
    entries = LiveEntries(state)

    assert [entry.file.file_name for entry in entries] == ["a", "b", "c"]
    assert (entries[0], entries[-1], entries[1:]) == (*added("a"), list(entries)[2], [*entries][1:])
    for groups in (by_bucket(entries), by_bucket(list(entries))):
        assert {bucket: len(found) for (_, bucket), found in groups.items()} == {0: 2, 1: 1}
        assert (EMPTY_ROW, 1) in groups
        assert (EMPTY_ROW, 2) not in groups


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_way_to_a_state_gives_the_same_files(seed: int) -> None:
    source = random.Random(seed)
    changes = [
        change
        for number in range(6)
        for change in (
            added(f"{number}", bucket=number % 2),
            deleted(f"{number}", bucket=number % 2),
        )
        if source.random() < 0.7
    ]
    adds = {e.file.file_name for change in changes for e in change if e.kind is FileKind.ADD}
    gone = {e.file.file_name for change in changes for e in change if e.kind is FileKind.DELETE}
    step_by_step = EMPTY_STATE
    for change in changes:
        step_by_step = step_by_step.after([change])
    source.shuffle(changes)

    assert names(step_by_step) == names(EMPTY_STATE.after(changes)) == adds - gone
