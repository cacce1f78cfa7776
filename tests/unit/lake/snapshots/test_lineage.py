"""The snapshot that a snapshot was built on, by its property or by its files."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.lineage import is_built_on, lineage_properties
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.support.committing import data_file, given_table
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.foreign_engine import commit_foreign


@dataclass
class Bed:
    """A table that another engine commits to."""

    file_io: MemoryFileIO
    paths: TablePaths

    def commit(self, *names: str, drops: str | None = None, **given: Any) -> Snapshot:
        entries = [_entry(name) for name in names]
        if drops is not None:
            entries.append(_entry(drops, kind=FileKind.DELETE))
        return commit_foreign(self.file_io, self.paths, entries, **given)

    def merged(self, snapshot: Snapshot, *names: str) -> Snapshot:
        """Return the snapshot as it would be if manifests had been merged when it was planned."""
        store = ManifestStore(self.file_io, self.paths)
        name = "-".join(("merged", *names))
        manifest = store.write_manifest(
            f"manifest-{name}",
            [_entry(name) for name in names],
            partition_fields=(),
            compression="zstandard",
        )
        store.write_list(f"manifest-list-{name}", [manifest], compression="zstandard")
        return replace(snapshot, base_manifest_list=f"manifest-list-{name}")

    def is_built_on(self, snapshot: Snapshot, previous: Snapshot) -> bool:
        return is_built_on(snapshot, previous, ManifestStore(self.file_io, self.paths))


def _entry(name: str, *, kind: FileKind = FileKind.ADD) -> ManifestEntry:
    return ManifestEntry(
        kind=kind, partition=EMPTY_ROW, bucket=0, total_buckets=2, file=data_file(name)
    )


@pytest.fixture
def bed() -> Bed:
    file_io = MemoryFileIO()
    return Bed(file_io, given_table(file_io))


def test_the_property_decides(bed: Bed) -> None:
    first = bed.commit("a")
    follower = bed.commit("b", properties=lineage_properties(first))
    stranger = replace(first, delta_manifest_list="another")

    assert bed.is_built_on(follower, first)
    assert not bed.is_built_on(follower, stranger)


def test_a_snapshot_that_replaces_files_was_built_on_them(bed: Bed) -> None:
    first = bed.commit("a", "b")

    assert bed.is_built_on(bed.commit("c", drops="a"), first)


def test_nothing_is_built_on_a_snapshot_that_is_not_directly_below(bed: Bed) -> None:
    first = bed.commit("a")
    bed.commit()

    assert not bed.is_built_on(bed.commit(), first)


@pytest.mark.parametrize("other", ["b", None])
def test_a_snapshot_with_other_files_was_built_on_another(bed: Bed, other: str | None) -> None:
    """Directly below the oldest snapshot is one that was published into the gap of expiry."""
    bed.commit("a")
    second = bed.commit(*([other] if other else []))
    third = bed.commit()
    bed.file_io.delete(bed.paths.snapshot(3))
    bed.file_io.delete(bed.paths.snapshot(2))
    bed.file_io.delete(bed.paths.latest_hint)
    detached = bed.commit("mine")

    assert bed.is_built_on(third, second)
    assert not bed.is_built_on(third, detached)


def test_merged_manifests_are_compared_by_their_files(bed: Bed) -> None:
    bed.commit("a", "b")
    second = bed.commit("c", drops="a")
    third = bed.commit()

    assert bed.is_built_on(bed.merged(third, "b", "c"), second)
    assert not bed.is_built_on(bed.merged(third, "b"), second)
    assert not bed.is_built_on(bed.merged(third, "a", "b", "c"), second)


def test_expired_manifests_prove_nothing(bed: Bed) -> None:
    first = bed.commit("a")
    second = bed.commit()
    bed.file_io.delete(bed.paths.manifest(first.delta_manifest_list))

    assert not bed.is_built_on(second, first)


def test_manifests_that_were_not_merged_are_not_read(bed: Bed) -> None:
    bed.commit("a")
    second = bed.commit("b")
    third = bed.commit("c")
    counting = FaultyFileIO(bed.file_io)

    assert is_built_on(third, second, ManifestStore(counting, bed.paths))

    lists = second.base_manifest_list, second.delta_manifest_list, third.base_manifest_list
    assert counting.calls == [("read_bytes", bed.paths.manifest(name)) for name in lists]
