"""Merging keeps the live files, with exact counts, in a short list."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.commit.commit_changes import changes_of
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.manifest_list import ManifestFileMeta
from braid.lake.format.snapshot import CommitKind
from braid.lake.format.statistics import EMPTY_STATS
from braid.lake.options.table_options import TableOptions
from braid.lake.snapshots.manifest_merge import (
    ManifestMergePlan,
    MergedGroup,
    cancel_entries,
    merge_manifests,
    plan_manifest_merge,
    replace_manifests,
)
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.support.committing import appended, compacted, data_file

OPTIONS = TableOptions()


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


def deleted(*names: str) -> list[ManifestEntry]:
    files = tuple(map(data_file, names))
    return list(changes_of([compacted(files, ())], CommitKind.COMPACT).delta)


class Manifests:
    """Manifests in memory, written one per call."""

    def __init__(self) -> None:
        self.store = ManifestStore(MemoryFileIO(), TablePaths("/t"))
        self.count = 0
        self.entries_written = 0

    def write(self, entries: Sequence[ManifestEntry]) -> list[ManifestFileMeta]:
        if not entries:
            return []
        self.count += 1
        self.entries_written += len(entries)
        name = f"m{self.count}"
        return [self.store.write_manifest(name, entries, partition_fields=(), compression="null")]

    def merge(
        self, manifests: Sequence[ManifestFileMeta], plan: ManifestMergePlan
    ) -> list[ManifestFileMeta]:
        merged = list(manifests)
        groups = merge_manifests(manifests, plan, read=self.store.read_manifest, write=self.write)
        for group in groups:
            replaced = replace_manifests(merged, group)
            assert replaced is not None
            merged = replaced
        return merged

    def live(self, manifests: Sequence[ManifestFileMeta]) -> set[str]:
        entries = [e for m in manifests for e in self.store.read_manifest(m.file_name)]
        gone = {e.identity for e in entries if e.kind is FileKind.DELETE}
        return {
            e.file.file_name for e in entries if e.kind is FileKind.ADD and e.identity not in gone
        }


def test_a_short_list_is_left_alone() -> None:
    assert plan_manifest_merge([meta(f"{n}") for n in range(29)], OPTIONS) == ManifestMergePlan()
    assert plan_manifest_merge([], OPTIONS) == ManifestMergePlan()


def test_a_long_tail_is_merged() -> None:
    manifests = [meta(f"{n}") for n in range(40)]

    plan = plan_manifest_merge(manifests, OPTIONS)

    assert plan.groups == (tuple(manifests),)
    assert not plan.is_full


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


def test_deletes_beyond_the_threshold_cause_a_full_merge() -> None:
    threshold = OPTIONS.manifest_full_compaction_threshold_bytes
    large = meta("large", size=threshold)
    bearing = meta("bearing", size=threshold - 10, deleted=5)
    small = meta("small", size=10)

    plan = plan_manifest_merge([large, bearing, small], OPTIONS)

    assert plan == ManifestMergePlan(groups=((bearing, small),), is_full=True)


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


def test_a_full_merge_leaves_no_delete_and_takes_in_what_they_delete() -> None:
    manifests = Manifests()
    hit = manifests.write(added("a", "b"))
    other_bucket = manifests.write(added("x", bucket=1))
    missed = manifests.write(added("c"))
    group = [*manifests.write(deleted("a", "never there")), *manifests.write(added("d"))]
    before = [*hit, *other_bucket, *missed, *group]

    merged = manifests.merge(before, ManifestMergePlan(groups=(tuple(group),), is_full=True))

    assert manifests.live(merged) == {"b", "c", "d", "x"}
    assert sum(m.num_deleted_files for m in merged) == 0
    assert {*other_bucket, *missed} <= set(merged)
    assert not set(hit) & set(merged)


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


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), min_count=st.integers(2, 6))
def test_any_merges_of_any_history_leave_the_same_files(seed: int, min_count: int) -> None:
    source = random.Random(seed)
    manifests = Manifests()
    alive: set[str] = set()
    listed: list[ManifestFileMeta] = []
    options = TableOptions(
        manifest_merge_min_count=min_count,
        manifest_target_file_size_bytes=source.choice([4_000, 8_000, 8 << 20]),
        manifest_full_compaction_threshold_bytes=source.choice([20_000, 16 << 20]),
    )
    for number in range(30):
        gone = source.sample(sorted(alive), min(len(alive), source.randint(0, 3)))
        fresh = [f"{number}-{i}" for i in range(source.randint(0, 3))]
        alive = alive - set(gone) | set(fresh)
        listed = manifests.merge(listed, plan_manifest_merge(listed, options))
        listed += manifests.write([*deleted(*gone), *added(*fresh)])

        assert manifests.live(listed) == alive
        for manifest in listed:
            entries = manifests.store.read_manifest(manifest.file_name)
            kinds = [entry.kind for entry in entries]
            assert manifest.num_added_files == kinds.count(FileKind.ADD)
            assert manifest.num_deleted_files == kinds.count(FileKind.DELETE)
