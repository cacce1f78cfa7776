"""Below a snapshot of removed history is a gap, or a snapshot that it was not built on."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.snapshot import Snapshot, serialize_snapshot
from braid.lake.snapshots.lineage import lineage_properties
from braid.lake.snapshots.removed_history import RemovedHistory
from braid.lake.snapshots.rollback_marker import RollbackMarker
from tests.unit.lake.snapshots.test_snapshot_store import SNAPSHOT

PATHS = TablePaths("/warehouse/db.db/t")


def chain(name: str, ids: Iterable[int], *, on: Snapshot | None = None) -> list[Snapshot]:
    """Return snapshots that follow each other."""
    snapshots: list[Snapshot] = []
    for number in ids:
        on = replace(
            SNAPSHOT,
            id=number,
            delta_manifest_list=f"{name}-{number}",
            properties=lineage_properties(on),
        )
        snapshots.append(on)
    return snapshots


OLD = chain("old", range(1, 7))
TARGET, NEWEST, SLEPT = OLD[2], OLD[4], OLD[5]
NEW = chain("new", range(4, 9), on=TARGET)


class Bed:
    """A table that is rolled back to snapshot 3, of five."""

    def __init__(self, snapshots: Iterable[Snapshot], *, is_marked: bool = True) -> None:
        self.file_io = MemoryFileIO()
        self.put(*snapshots)
        if is_marked:
            RollbackMarker(self.file_io, PATHS).put(target=TARGET, newest=NEWEST)
        self.removed = RemovedHistory(self.file_io, PATHS)

    def put(self, *snapshots: Snapshot) -> None:
        for snapshot in snapshots:
            self.file_io.overwrite(PATHS.snapshot(snapshot.id), serialize_snapshot(snapshot))

    def delete(self, *ids: int) -> None:
        for number in ids:
            self.file_io.delete(PATHS.snapshot(number))


@pytest.mark.parametrize(
    ("there", "snapshot", "is_held"),
    [
        pytest.param([*OLD[:3], SLEPT], SLEPT, True, id="above a gap"),
        pytest.param([*OLD[:3], *NEW[:2], SLEPT], SLEPT, True, id="on one it did not follow"),
        pytest.param([*OLD[:3], SLEPT, *chain("on", [7], on=SLEPT)], SLEPT, True, id="built on"),
        pytest.param([*OLD[:3], *NEW], NEW[4], False, id="on the target"),
        pytest.param([*OLD[:3], *OLD[4:]], SLEPT, False, id="broken off before the last removal"),
        pytest.param(NEW[1:], NEW[4], False, id="all below have expired"),
        pytest.param([SLEPT], SLEPT, False, id="nothing else is left"),
    ],
)
def test_removed_history_is_detected_in_the_chain(
    there: list[Snapshot], snapshot: Snapshot, is_held: bool
) -> None:
    assert Bed(there).removed.holds(snapshot) is is_held


def test_without_a_marker_nothing_is_removed_history() -> None:
    assert not Bed([*OLD[:3], SLEPT], is_marked=False).removed.holds(SLEPT)


def test_a_snapshot_of_another_engine_counts_as_valid() -> None:
    foreign = replace(SLEPT, properties={})

    assert not Bed([*OLD[:3], *NEW[:2], foreign]).removed.holds(foreign)


def test_a_valid_snapshot_is_not_read_again() -> None:
    bed = Bed([*OLD[:3], *NEW])
    assert not bed.removed.holds(NEW[3])
    bed.put(replace(NEW[1], delta_manifest_list="damaged"))

    assert not bed.removed.holds(NEW[4])
    assert RemovedHistory(bed.file_io, PATHS).holds(NEW[4])


def test_the_newest_snapshot_before_the_rollback_decides_for_all_above_it() -> None:
    bed = Bed([*OLD[:3], *OLD[4:]])
    assert not bed.removed.holds(SLEPT)

    bed.delete(NEWEST.id)

    assert bed.removed.holds(SLEPT)
