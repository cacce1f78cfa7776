"""Merging keeps the live files, with exact counts, in a short list."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.commit.commit_changes import changes_of
from braid.lake.files.paths import TablePaths, is_manifest_part
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.snapshot import CommitKind
from braid.lake.format.statistics import EMPTY_STATS
from braid.lake.options.table_options import TableOptions
from braid.lake.snapshots.manifest_merge import (
    PARTS,
    ManifestMergePlan,
    MergedGroup,
    cancel_entries,
    merge_manifests,
    plan_manifest_merge,
    replace_manifests,
)
from braid.lake.snapshots.manifest_slice import KeySlice
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.support.committing import appended, compacted, data_file

OPTIONS = TableOptions()
PART = OPTIONS.manifest_target_file_size_bytes // PARTS


def meta(
    name: str,
    *,
    size: int = 2_000,
    added: int = 1,
    deleted: int = 0,
    buckets: tuple[int, int] = (0, 0),
) -> ManifestFileMeta:
    return ManifestFileMeta(
        file_name=name,
        file_size=size,
        num_added_files=added,
        num_deleted_files=deleted,
        partition_stats=EMPTY_STATS,
        schema_id=0,
        min_bucket=buckets[0],
        max_bucket=buckets[1],
    )


def added(*names: str, bucket: int = 0) -> list[ManifestEntry]:
    return list(
        changes_of([appended(*map(data_file, names), bucket=bucket)], CommitKind.APPEND).delta
    )


def deleted(*names: str, bucket: int = 0) -> list[ManifestEntry]:
    files = tuple(map(data_file, names))
    return list(changes_of([compacted(files, (), bucket=bucket)], CommitKind.COMPACT).delta)


class Manifests:
    """Manifests in memory, written one per call, or in parts."""

    def __init__(self) -> None:
        self.store = ManifestStore(MemoryFileIO(), TablePaths("/t"))
        self.count = 0

    def write(self, entries: Sequence[ManifestEntry]) -> list[ManifestFileMeta]:
        return [self._write(entries, TablePaths.new_sorted_manifest_name)] if entries else []

    def write_parts(self, entries: Sequence[ManifestEntry], count: int) -> list[ManifestFileMeta]:
        each = max(1, -(-len(entries) // count))
        starts = range(0, len(entries), each)
        make = TablePaths.new_manifest_part_name
        return [self._write(entries[start : start + each], make) for start in starts]

    def merge(
        self, manifests: Sequence[ManifestFileMeta], plan: ManifestMergePlan
    ) -> list[ManifestFileMeta]:
        merged = list(manifests)
        groups = merge_manifests(
            plan, read=self.read, write=self.write, write_parts=self.write_parts
        )
        for group in groups:
            replaced = replace_manifests(merged, group)
            assert replaced is not None
            merged = replaced
        return merged

    def read(self, name: str) -> Sequence[ManifestEntry]:
        return self.store.read_uncached(name)

    def live(self, manifests: Sequence[ManifestFileMeta]) -> set[str]:
        """Return the live files as the reference's writers find them: no DELETE is before its ADD."""
        alive: set[str] = set()
        for entry in (e for m in manifests for e in self.read(m.file_name)):
            if entry.kind is FileKind.ADD:
                alive.add(entry.file.file_name)
            else:
                alive.discard(entry.file.file_name)
        return alive

    def _write(
        self, entries: Sequence[ManifestEntry], make: Callable[[str, int], str]
    ) -> ManifestFileMeta:
        self.count += 1
        name = make("u", self.count)
        return self.store.write_manifest(name, entries, partition_fields=(), compression="null")


def test_a_short_list_is_left_alone() -> None:
    assert plan_manifest_merge([meta(f"{n}") for n in range(29)], OPTIONS) == ManifestMergePlan()
    assert plan_manifest_merge([], OPTIONS) == ManifestMergePlan()


def test_a_long_tail_is_merged() -> None:
    manifests = [meta(f"{n}") for n in range(40)]

    plan = plan_manifest_merge(manifests, OPTIONS)

    assert plan.groups == (tuple(manifests),)


def test_an_older_manifest_joins_only_when_it_is_outgrown() -> None:
    small, large = meta("small", added=30), meta("large", added=1_000)
    tail = [meta(f"{n}") for n in range(60)]

    plan = plan_manifest_merge([large, small, *tail], OPTIONS)

    assert plan.groups == ((small, *tail),)


def test_the_newest_are_merged_even_when_sizes_alternate() -> None:
    manifests = [meta(f"{n}", added=1 + 9 * (n % 2)) for n in range(60)]

    plan = plan_manifest_merge(manifests, OPTIONS)

    assert len(plan.groups) == 1
    assert len(plan.groups[0]) >= OPTIONS.manifest_merge_min_count


def test_a_group_is_closed_at_the_target_size() -> None:
    half = OPTIONS.manifest_target_file_size_bytes // 2
    manifests = [meta("a", size=half), meta("b", size=half), meta("c", size=half)]

    assert plan_manifest_merge(manifests, OPTIONS).groups == (tuple(manifests[:2]),)


def test_a_large_manifest_without_deletes_is_left_alone() -> None:
    large = meta("a", size=OPTIONS.manifest_target_file_size_bytes)

    assert plan_manifest_merge([large, large], OPTIONS) == ManifestMergePlan()


def part(name: str, **given: Any) -> ManifestFileMeta:
    """Return a settled part."""
    return meta(f"manifest-u-part-{name}", **{"size": PART, **given})


def slice_of(manifests: Sequence[ManifestFileMeta], **given: Any) -> KeySlice | None:
    return plan_manifest_merge(manifests, OPTIONS, merges_slices=True, **given).slice


def test_a_tail_of_the_target_size_is_closed_into_narrow_parts() -> None:
    manifests = Manifests()
    tail = [m for n in range(12) for m in manifests.write(added(f"{n}", bucket=n * 5 % 12))]
    plan = ManifestMergePlan(groups=(tuple(tail),), target_bytes=sum(m.file_size for m in tail))

    merged = manifests.merge(tail, plan)

    assert [(m.min_bucket, m.max_bucket) for m in merged] == [(0, 2), (3, 5), (6, 8), (9, 11)]
    assert all(is_manifest_part(m.file_name) for m in merged)


def test_parts_are_left_alone_by_minor_merges() -> None:
    parts = [part(f"{n}", deleted=1) for n in range(100)]

    assert plan_manifest_merge(parts, OPTIONS) == ManifestMergePlan()


def test_small_manifests_between_parts_are_joined() -> None:
    small = (meta("a"), meta("b"))

    plan = plan_manifest_merge([part("0"), *small, part("1")], OPTIONS)

    assert plan.groups == (small,)


def test_deletes_beyond_the_threshold_are_merged_slice_by_slice() -> None:
    few = OPTIONS.manifest_full_compaction_threshold_bytes // PART
    bearing = [part(f"d{n}", deleted=5, buckets=(0, 99)) for n in range(few)]
    base = [part(f"b{n}", buckets=(n, n)) for n in range(few)]

    assert slice_of([*base, *bearing[1:]]) is None
    assert plan_manifest_merge([*base, *bearing], OPTIONS).slice is None
    found = slice_of([*base, *bearing])
    assert found is not None
    assert (found.low[1], found.high[1]) == (0, 99)
    assert found.manifests == (*base, *bearing)


def test_a_slice_is_bounded_in_bytes() -> None:
    bearing = [part(f"d{n}", deleted=5, buckets=(0, 999)) for n in range(14)]
    base = [part(f"b{n}", buckets=(n, n)) for n in range(40)]

    found = slice_of([*base, *bearing])

    assert found is not None
    assert set(bearing) < set(found.manifests)
    assert sum(m.file_size for m in found.manifests) == 4 * OPTIONS.manifest_target_file_size_bytes
    assert (found.low[1], found.high[1]) == (0, 1)


def test_deletes_in_a_small_share_of_all_manifests_wait() -> None:
    few = OPTIONS.manifest_full_compaction_threshold_bytes // PART
    bearing = [part(f"d{n}", deleted=5, buckets=(0, 99)) for n in range(few)]
    base = [part(f"b{n}", buckets=(n, n)) for n in range(4 * few)]

    assert slice_of([*base, *bearing]) is None


def test_the_tail_is_in_no_slice() -> None:
    few = OPTIONS.manifest_full_compaction_threshold_bytes // PART
    bearing = [part(f"d{n}", deleted=5, buckets=(0, 99)) for n in range(few)]

    found = slice_of([part("b"), *bearing, meta("tail", deleted=1, buckets=(0, 99))])

    assert found is not None
    assert "tail" not in {m.file_name for m in found.manifests}


def test_entries_cancel_in_any_order() -> None:
    entries = [*deleted("a"), *added("a", "b"), *deleted("elsewhere"), *added("c")]

    left = cancel_entries(entries)

    assert [(e.kind, e.file.file_name) for e in left] == [
        (FileKind.DELETE, "elsewhere"),
        (FileKind.ADD, "b"),
        (FileKind.ADD, "c"),
    ]


def test_a_minor_merge_keeps_deletes_of_files_elsewhere() -> None:
    manifests = Manifests()
    old = manifests.write(added("a", "b"))
    group = [*manifests.write(deleted("a")), *manifests.write(added("c"))]

    merged = manifests.merge([*old, *group], ManifestMergePlan(groups=(tuple(group),)))

    assert [(m.num_added_files, m.num_deleted_files) for m in merged] == [(2, 0), (1, 1)]
    assert manifests.live(merged) == {"b", "c"}


def test_a_group_that_cancels_wholly_leaves_no_manifest() -> None:
    manifests = Manifests()
    group = [*manifests.write(added("a")), *manifests.write(deleted("a"))]

    assert manifests.merge(group, ManifestMergePlan(groups=(tuple(group),))) == []


def test_a_slice_leaves_no_delete_in_its_range_and_all_else_in_place() -> None:
    manifests = Manifests()
    hit = manifests.write([*added("a", "b"), *added("x", "y", bucket=9)])
    beside = manifests.write(added("z", bucket=9))
    wide = [*deleted("a", "never there"), *added("c"), *deleted("x", bucket=9)]
    listed = [*hit, *beside, *manifests.write(wide)]
    chosen = KeySlice(low=((), 0), high=((), 5), manifests=(listed[0], listed[2]))

    merged = manifests.merge(listed, ManifestMergePlan(slice=chosen))

    assert manifests.live(merged) == {"b", "c", "y", "z"}
    found = [[(e.kind.name, e.file.file_name) for e in manifests.read(m.file_name)] for m in merged]
    assert found == [
        [("ADD", "x"), ("ADD", "y")],
        [("ADD", "z")],
        [("DELETE", "x")],
        [("ADD", "b"), ("ADD", "c")],
    ]


def test_a_replacement_stands_where_its_first_member_stood() -> None:
    a, b, c, d = (meta(name) for name in "abcd")
    merged = MergedGroup(before=frozenset({"b", "d"}), after=(meta("m"),))

    assert replace_manifests([a, b, c, d], merged) == [a, meta("m"), c]


def test_a_replacement_is_of_no_use_once_a_member_is_gone() -> None:
    merged = MergedGroup(before=frozenset({"b", "d"}), after=(meta("m"),))

    assert replace_manifests([meta("a"), meta("b")], merged) is None


@pytest.mark.parametrize("sizes", [[1], [1, 50], [7, 1, 1, 300], [64, 32, 16, 8, 4, 2, 1]])
def test_a_thousand_commits_leave_a_short_list_and_little_rewriting(sizes: list[int]) -> None:
    """The bound holds for even and uneven commits alike."""
    listed: list[ManifestFileMeta] = []
    rewritten = total = longest = 0
    for number in range(1_000):
        count = sizes[number % len(sizes)]
        total += count
        for group in plan_manifest_merge(listed, OPTIONS).groups:
            entries = sum(m.num_added_files for m in group)
            rewritten += entries
            names = {m.file_name for m in group}
            listed = [m for m in listed if m.file_name not in names]
            listed.append(meta(f"merged-{number}", added=entries))
        listed.append(meta(f"{number}", added=count))
        longest = max(longest, len(listed))

    assert longest <= 30 + total.bit_length() + 1
    assert rewritten <= total * 12


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), min_count=st.integers(2, 6))
def test_any_merges_of_any_history_leave_the_same_files(seed: int, min_count: int) -> None:
    source = random.Random(seed)
    manifests = Manifests()
    alive: set[tuple[str, int]] = set()
    listed: list[ManifestFileMeta] = []
    options = TableOptions(
        manifest_merge_min_count=min_count,
        manifest_target_file_size_bytes=source.choice([4_000, 8_000, 8 << 20]),
        manifest_full_compaction_threshold_bytes=source.choice([6_000, 20_000, 16 << 20]),
    )
    for number in range(40):
        gone = source.sample(sorted(alive), min(len(alive), source.randint(0, 3)))
        fresh = [(f"{number}-{i}", source.randint(0, 9)) for i in range(source.randint(0, 3))]
        alive = alive - set(gone) | set(fresh)
        plan = plan_manifest_merge(listed, options, merges_slices=source.random() < 0.5)
        listed = manifests.merge(listed, plan)
        entries = [e for name, bucket in gone for e in deleted(name, bucket=bucket)]
        entries += [e for name, bucket in fresh for e in added(name, bucket=bucket)]
        listed += manifests.write(entries)

        assert manifests.live(listed) == {name for name, _ in alive}
        for manifest in listed:
            kinds = [entry.kind for entry in manifests.read(manifest.file_name)]
            assert manifest.num_added_files == kinds.count(FileKind.ADD)
            assert manifest.num_deleted_files == kinds.count(FileKind.DELETE)
