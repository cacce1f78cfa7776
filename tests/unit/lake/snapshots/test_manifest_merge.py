"""Merging keeps the live files, with exact counts, in a short list."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.commit.commit_changes import changes_of
from braid.lake.files.paths import TablePaths, is_manifest_part
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import encode_rows
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.manifest_records import ManifestRecord, new_records
from braid.lake.format.snapshot import CommitKind
from braid.lake.format.statistics import EMPTY_STATS, SimpleStats
from braid.lake.options.table_options import TableOptions
from braid.lake.snapshots.manifest_merge import (
    APPEND_ENTRIES,
    PARTS,
    ManifestMergePlan,
    MergedGroup,
    cancel_entries,
    merge_manifests,
    plan_append_merge,
    plan_manifest_merge,
    replace_manifests,
)
from braid.lake.snapshots.manifest_slice import KeySlice, SliceBudget
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.support.committing import appended, compacted, data_file

OPTIONS = TableOptions()
TARGET = OPTIONS.manifest_target_file_size_bytes
PART = TARGET // PARTS
BUDGET = SliceBudget(bytes=4 * TARGET, entries=16_000)


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

    def commit(self, entries: Sequence[ManifestEntry]) -> list[ManifestFileMeta]:
        return self.write(new_records(entries))

    def write(self, records: Sequence[ManifestRecord]) -> list[ManifestFileMeta]:
        return [self._write(records, TablePaths.new_sorted_manifest_name)] if records else []

    def write_parts(self, records: Sequence[ManifestRecord], count: int) -> list[ManifestFileMeta]:
        each = max(1, -(-len(records) // count))
        starts = range(0, len(records), each)
        make = TablePaths.new_manifest_part_name
        return [self._write(records[start : start + each], make) for start in starts]

    def merge(
        self, manifests: Sequence[ManifestFileMeta], plan: ManifestMergePlan
    ) -> list[ManifestFileMeta]:
        merged = list(manifests)
        groups = merge_manifests(
            plan, read=self.store.read_records, write=self.write, write_parts=self.write_parts
        )
        for group in groups:
            replaced = replace_manifests(merged, group)
            assert replaced is not None
            merged = replaced
        return merged

    def read(self, name: str) -> Sequence[ManifestEntry]:
        return [record.entry for record in self.store.read_records(name)]

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
        self, records: Sequence[ManifestRecord], make: Callable[[str, int], str]
    ) -> ManifestFileMeta:
        self.count += 1
        name = make("u", self.count)
        return self.store.write_records(name, records, partition_fields=(), compression="null")


def test_a_short_list_is_left_alone() -> None:
    assert plan_append_merge([meta(f"{n}") for n in range(29)], OPTIONS) == ManifestMergePlan()
    assert plan_append_merge([], OPTIONS) == ManifestMergePlan()


def test_a_long_tail_is_merged() -> None:
    manifests = [meta(f"{n}") for n in range(40)]

    plan = plan_append_merge(manifests, OPTIONS)

    assert plan.groups == (tuple(manifests),)


def test_an_older_manifest_joins_only_when_it_is_outgrown() -> None:
    small, large = meta("small", added=30), meta("large", added=1_000)
    tail = [meta(f"{n}") for n in range(60)]

    plan = plan_append_merge([large, small, *tail], OPTIONS)

    assert plan.groups == ((small, *tail),)


def test_the_newest_are_merged_even_when_sizes_alternate() -> None:
    manifests = [meta(f"{n}", added=1 + 9 * (n % 2)) for n in range(60)]

    plan = plan_append_merge(manifests, OPTIONS)

    assert len(plan.groups) == 1
    assert len(plan.groups[0]) >= OPTIONS.manifest_merge_min_count


def test_a_group_is_closed_at_the_target_size() -> None:
    half = OPTIONS.manifest_target_file_size_bytes // 2
    manifests = [meta("a", size=half), meta("b", size=half), meta("c", size=half)]

    assert plan_manifest_merge(manifests, OPTIONS).groups == (tuple(manifests[:2]),)


def test_an_append_closes_only_an_overdue_tail_and_only_a_part_of_it() -> None:
    manifests = [meta(f"{n}", size=TARGET // 2) for n in range(8)]

    assert plan_append_merge(manifests[1:], OPTIONS).is_empty
    assert plan_append_merge(manifests, OPTIONS).groups == (tuple(manifests[:2]),)


def test_a_compaction_merges_a_short_tail_by_size() -> None:
    newest = [meta(f"{n}", added=n) for n in (9, 5, 4, 2, 3, 1)]
    large = [meta("a", added=80), meta("b", added=50)]

    assert plan_manifest_merge([*large, *newest], OPTIONS).is_empty
    more = [*large, *newest, meta("c")]
    assert plan_manifest_merge(more, OPTIONS).groups == (tuple(more[2:]),)


def test_an_append_merges_a_long_tail_and_leaves_large_manifests_to_others() -> None:
    large = [meta(f"large{n}", added=APPEND_ENTRIES // 2) for n in range(50)]
    tail = [meta(f"{n}") for n in range(40)]

    assert plan_append_merge([*large, *tail], OPTIONS).groups == (tuple(tail),)


@pytest.mark.parametrize("sizes", [[1], [1, 50], [7, 1, 1, 300], [900], [64, 32, 16, 8, 4, 2, 1]])
def test_a_thousand_appends_merge_few_entries_each(sizes: list[int]) -> None:
    listed: list[ManifestFileMeta] = []
    rewritten = total = 0
    for number in range(1_000):
        count = sizes[number % len(sizes)]
        total += count
        for group in plan_append_merge(listed, OPTIONS).groups:
            entries = sum(m.num_added_files for m in group)
            assert entries <= APPEND_ENTRIES
            rewritten += entries
            fresh = meta(f"merged-{number}", added=entries)
            merged = MergedGroup(before=frozenset(m.file_name for m in group), after=(fresh,))
            listed = replace_manifests(listed, merged) or []
        listed.append(meta(f"{number}", added=count))

    assert rewritten <= total * 12
    assert len(listed) <= 30 + total.bit_length() + 4 * total // APPEND_ENTRIES


def test_a_large_manifest_without_deletes_is_left_alone() -> None:
    large = meta("a", size=OPTIONS.manifest_target_file_size_bytes)

    assert plan_manifest_merge([large, large], OPTIONS) == ManifestMergePlan()


def part(name: str, **given: Any) -> ManifestFileMeta:
    """Return a settled part."""
    return meta(f"manifest-u-part-{name}", **{"size": PART, **given})


def slice_of(manifests: Sequence[ManifestFileMeta], **given: Any) -> KeySlice | None:
    return plan_manifest_merge(manifests, OPTIONS, budget=BUDGET, **given).slice


def test_a_tail_of_the_target_size_is_closed_into_narrow_parts() -> None:
    manifests = Manifests()
    tail = [m for n in range(12) for m in manifests.commit(added(f"{n}", bucket=n * 5 % 12))]
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


def bearing(count: int, *, of: int = 2) -> list[ManifestFileMeta]:
    """Return parts with DELETEs, so many of which overlap."""
    return [
        part(f"d{n}", deleted=5, buckets=(n // of * 10, n // of * 10 + 9)) for n in range(count)
    ]


def test_deletes_beyond_the_threshold_are_merged_slice_by_slice() -> None:
    few = OPTIONS.manifest_full_compaction_threshold_bytes // PART
    base = [part(f"b{n}", buckets=(n, n)) for n in range(few)]

    assert slice_of([*base, *bearing(few)[1:]]) is None
    assert plan_manifest_merge([*base, *bearing(few)], OPTIONS).slice is None
    found = slice_of([*base, *bearing(few)])
    assert found is not None
    assert (found.low[1], found.high[1], found.is_whole) == (0, 9, True)
    assert found.manifests == (*base, *bearing(2))


def test_a_slice_because_of_deletes_is_bounded() -> None:
    base = [part(f"b{n}", buckets=(n, n)) for n in range(20)]
    wide = [part(f"d{n}", size=5 * PART, deleted=5, buckets=(0, 999)) for n in range(2)]

    found = slice_of([*base, *wide])

    assert found is not None
    assert found.manifests == (*base[:6], *wide)
    assert sum(m.file_size for m in found.manifests) == BUDGET.bytes
    assert (found.low[1], found.high[1], found.is_whole) == (0, 5, True)


def test_deletes_in_a_small_share_of_all_manifests_wait() -> None:
    few = OPTIONS.manifest_full_compaction_threshold_bytes // PART
    base = [part(f"b{n}", buckets=(n, n)) for n in range(4 * few)]

    assert slice_of([*base, *bearing(few)]) is None


def test_the_tail_is_in_no_slice() -> None:
    few = OPTIONS.manifest_full_compaction_threshold_bytes // PART

    found = slice_of([part("b"), *bearing(few), meta("tail", deleted=1, buckets=(0, 99))])

    assert found is not None
    assert "tail" not in {m.file_name for m in found.manifests}


def run(name: str, count: int, *, size: int = PART, buckets: int = 80) -> list[ManifestFileMeta]:
    """Return parts that divide the buckets."""
    each = buckets // count
    return [
        part(f"{name}{n}", size=size, added=10, buckets=(n * each, n * each + each - 1))
        for n in range(count)
    ]


def test_up_to_three_manifests_overlap() -> None:
    assert slice_of([*run("a", 8), *run("b", 4), *run("c", 2)]) is None


def test_where_more_overlap_the_newest_of_about_equal_size_are_merged() -> None:
    old = [*run("a", 40), *run("b", 8)]
    newest = [
        part("c", size=PART // 4, buckets=(0, 79)),
        part("d", size=PART // 4, buckets=(0, 79)),
    ]

    found = slice_of([*old, *newest])

    assert found is not None
    assert found.manifests == tuple(newest)
    assert (found.low[1], found.high[1], found.is_whole) == (0, 79, False)


def test_manifests_that_the_newer_ones_outgrow_are_merged_as_well() -> None:
    runs = [run(name, 4) for name in "abcde"]

    found = slice_of([manifest for of_run in runs for manifest in of_run])

    assert found is not None
    assert found.is_whole
    assert {m.file_name[-2] for m in found.manifests} == set("abcde")
    assert sum(m.file_size for m in found.manifests) <= BUDGET.bytes
    assert found.low[1] % 20 == 0
    assert found.high[1] % 20 == 19


@pytest.mark.parametrize("budget", [SliceBudget(bytes=4 * TARGET, entries=100), BUDGET])
def test_a_slice_because_of_overlaps_is_bounded(budget: SliceBudget) -> None:
    wide = [part(f"{n}", added=25, buckets=(0, 99)) for n in range(30)]

    found = plan_manifest_merge(wide, OPTIONS, budget=budget).slice

    assert found is not None
    count = min(budget.bytes // PART, budget.entries // 25)
    assert found.manifests == tuple(wide[-count:])
    assert not found.is_whole


def test_parts_of_a_single_bucket_overlap_for_good() -> None:
    assert slice_of([part(f"{n}") for n in range(20)]) is None


def test_a_slice_that_begins_inside_of_a_manifest_leaves_its_bound_out() -> None:
    found = slice_of(
        [
            part("low", buckets=(0, 4), size=16 * TARGET),
            *(part(f"{n}", buckets=(4, 9)) for n in range(5)),
        ]
    )

    assert found is not None
    assert (found.low[1], found.has_low, found.is_whole) == (4, True, False)


def test_partitions_divide_slices_as_buckets_do() -> None:
    day = DataField(id=0, name="day", type=DataType(root=TypeRoot.INT))

    def of_days(name: str, low: int, high: int) -> ManifestFileMeta:
        rows = encode_rows([pa.array([low, high], pa.int32())], [day])
        stats = SimpleStats(min_values=rows[0], max_values=rows[1], null_counts=(0,))
        return replace(part(name, added=10, buckets=(0, 7)), partition_stats=stats)

    manifests = [of_days(f"{n}{low}", low, low + 9) for n in range(5) for low in (0, 10)]

    found = slice_of(manifests, partition_fields=[day])

    assert found is not None
    assert len(found.manifests) == 10
    assert (found.low[0], found.high[0]) == (((1, 0),), ((1, 19),))


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
    old = manifests.commit(added("a", "b"))
    group = [*manifests.commit(deleted("a")), *manifests.commit(added("c"))]

    merged = manifests.merge([*old, *group], ManifestMergePlan(groups=(tuple(group),)))

    assert [(m.num_added_files, m.num_deleted_files) for m in merged] == [(2, 0), (1, 1)]
    assert manifests.live(merged) == {"b", "c"}


def test_a_group_that_cancels_wholly_leaves_no_manifest() -> None:
    manifests = Manifests()
    group = [*manifests.commit(added("a")), *manifests.commit(deleted("a"))]

    assert manifests.merge(group, ManifestMergePlan(groups=(tuple(group),))) == []


def names_of(manifests: Manifests, listed: Sequence[ManifestFileMeta]) -> list[list[str]]:
    return [
        [f"{e.kind.name} {e.file.file_name}" for e in manifests.read(m.file_name)] for m in listed
    ]


def test_a_slice_leaves_no_delete_in_its_range_and_all_else_in_place() -> None:
    manifests = Manifests()
    hit = manifests.commit([*added("a", "b"), *added("x", "y", bucket=9)])
    beside = manifests.commit(added("z", bucket=9))
    wide = [*deleted("a", "never there"), *added("c"), *deleted("x", bucket=9)]
    listed = [*hit, *beside, *manifests.commit(wide)]
    chosen = KeySlice(low=((), 0), high=((), 5), manifests=(listed[0], listed[2]))

    merged = manifests.merge(listed, ManifestMergePlan(slice=chosen))

    assert manifests.live(merged) == {"b", "c", "y", "z"}
    assert names_of(manifests, merged) == [
        ["ADD x", "ADD y"],
        ["ADD z"],
        ["DELETE x"],
        ["ADD b", "ADD c"],
    ]


def test_a_slice_of_the_newest_manifests_keeps_their_deletes() -> None:
    manifests = Manifests()
    old = manifests.commit(added("a", "b"))
    newer = [*manifests.commit([*deleted("a"), *added("c")]), *manifests.commit(deleted("c"))]
    chosen = KeySlice(low=((), 0), high=((), 5), manifests=tuple(newer), is_whole=False)

    merged = manifests.merge([*old, *newer], ManifestMergePlan(slice=chosen))

    assert names_of(manifests, merged) == [["ADD a", "ADD b"], ["DELETE a"]]


def test_a_slice_inside_of_a_manifest_leaves_one_below_and_one_above() -> None:
    manifests = Manifests()
    wide = manifests.commit([e for bucket in range(6) for e in added(f"{bucket}", bucket=bucket)])
    other = manifests.commit(added("x", bucket=3))
    chosen = KeySlice(
        low=((), 1), high=((), 4), manifests=(*wide, *other), has_low=False, has_high=False
    )

    merged = manifests.merge([*wide, *other], ManifestMergePlan(slice=chosen))

    assert names_of(manifests, merged) == [
        ["ADD 0", "ADD 1"],
        ["ADD 4", "ADD 5"],
        ["ADD 2", "ADD 3", "ADD x"],
    ]
    assert [(m.min_bucket, m.max_bucket) for m in merged] == [(0, 1), (4, 5), (2, 3)]


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
    budget = SliceBudget(
        bytes=source.choice([6_000, 16_000, 1 << 20]), entries=source.choice([9, 99])
    )
    for number in range(40):
        gone = source.sample(sorted(alive), min(len(alive), source.randint(0, 3)))
        fresh = [(f"{number}-{i}", source.randint(0, 9)) for i in range(source.randint(0, 3))]
        alive = alive - set(gone) | set(fresh)
        if source.random() < 0.5:
            plan = plan_append_merge(listed, options)
        else:
            plan = plan_manifest_merge(listed, options, budget=budget)
        listed = manifests.merge(listed, plan)
        entries = [e for name, bucket in gone for e in deleted(name, bucket=bucket)]
        entries += [e for name, bucket in fresh for e in added(name, bucket=bucket)]
        listed += manifests.commit(entries)

        assert manifests.live(listed) == {name for name, _ in alive}
        for manifest in listed:
            kinds = [entry.kind for entry in manifests.read(manifest.file_name)]
            assert manifest.num_added_files == kinds.count(FileKind.ADD)
            assert manifest.num_deleted_files == kinds.count(FileKind.DELETE)
