"""Units of files that are rewritten together, and the new buckets of their rows."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from pyroaring import FrozenBitMap

from braid.lake import UnsupportedFeature
from braid.lake.format.binary_row import encode_row
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.maintenance.rescale.rescale_plan import RescaleUnit, plan_rescale
from braid.lake.snapshots.deletion_vectors import BucketVectors
from tests.support.committing import ID, data_file

WHOLE = encode_row([], [])
ONE, OTHER = encode_row([1], [ID]), encode_row([2], [ID])


def entry(
    name: str, *, bucket: int, of: int, level: int = 0, partition: bytes = WHOLE
) -> ManifestEntry:
    return ManifestEntry(
        kind=FileKind.ADD,
        partition=partition,
        bucket=bucket,
        total_buckets=of,
        file=data_file(name, level=level),
    )


def summary_of(units: tuple[RescaleUnit, ...]) -> list[tuple[list[str], int, tuple[int, ...]]]:
    """Return names, level and new buckets of each unit."""
    found = [
        (sorted(e.file.file_name for e in unit.entries), unit.level, tuple(unit.buckets))
        for unit in units
    ]
    return sorted(found)


def test_more_buckets_take_each_bucket_apart() -> None:
    entries = [entry("a", bucket=0, of=2, level=5), entry("b", bucket=1, of=2, level=5)]

    assert summary_of(plan_rescale(entries, {}, buckets=6)) == [
        (["a"], 5, (0, 2, 4)),
        (["b"], 5, (1, 3, 5)),
    ]


def test_fewer_buckets_put_buckets_together_level_by_level() -> None:
    entries = [
        entry("a", bucket=0, of=4, level=5),
        entry("b", bucket=2, of=4, level=5),
        entry("c", bucket=2, of=4, level=4),
        entry("d", bucket=3, of=4, level=5),
    ]

    assert summary_of(plan_rescale(entries, {}, buckets=2)) == [
        (["a", "b"], 5, (0,)),
        (["c"], 4, (0,)),
        (["d"], 5, (1,)),
    ]


def test_files_of_level_0_stay_runs_of_their_own() -> None:
    entries = [entry("a", bucket=0, of=2), entry("b", bucket=0, of=2), entry("c", bucket=1, of=2)]

    assert summary_of(plan_rescale(entries, {}, buckets=1)) == [
        (["a"], 0, (0,)),
        (["b"], 0, (0,)),
        (["c"], 0, (0,)),
    ]


def test_partitions_are_rewritten_apart_and_files_of_the_count_stay() -> None:
    entries = [
        entry("a", bucket=0, of=2, level=5, partition=ONE),
        entry("b", bucket=0, of=2, level=5, partition=OTHER),
        entry("c", bucket=0, of=3, level=5, partition=WHOLE),
    ]

    assert summary_of(plan_rescale(entries, {}, buckets=3)) == [
        (["a"], 5, (0, 1, 2)),
        (["b"], 5, (0, 1, 2)),
    ]


def test_a_unit_knows_the_marks_of_its_own_files() -> None:
    entries = [
        entry("a", bucket=0, of=2, level=5),
        entry("b", bucket=1, of=2, level=5),
        entry("c", bucket=1, of=2, level=4),
    ]
    vectors = {
        (WHOLE, 1): BucketVectors(vectors={"b": FrozenBitMap([1]), "gone": FrozenBitMap([2])})
    }

    marks = {unit.level: dict(unit.marks) for unit in plan_rescale(entries, vectors, buckets=1)}

    assert marks == {5: {"b": FrozenBitMap([1])}, 4: {}}


def test_a_plan_is_as_small_for_as_many_buckets_as_there_can_be() -> None:
    (unit,) = plan_rescale([entry("a", bucket=1, of=2, level=5)], {}, buckets=2**31 - 2)

    assert (unit.buckets[0], unit.buckets[-1], len(unit.buckets)) == (1, 2**31 - 3, 2**30 - 1)


def test_files_that_an_index_routed_are_refused() -> None:
    with pytest.raises(
        UnsupportedFeature, match="the rows of file a were not routed by a bucket count"
    ):
        plan_rescale([entry("a", bucket=0, of=-1)], {}, buckets=2)


@given(
    old=st.integers(1, 60),
    new=st.integers(1, 60),
    hashes=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20),
    level=st.sampled_from([0, 5]),
)
def test_rows_find_their_new_bucket_among_those_of_their_unit(
    old: int, new: int, hashes: list[int], level: int
) -> None:
    present = sorted({number % old for number in hashes})
    entries = [entry(f"f{bucket}", bucket=bucket, of=old, level=level) for bucket in present]

    units = plan_rescale(entries, {}, buckets=new)

    planned = [identity for unit in units for identity in unit.inputs]
    assert len(planned) == len(set(planned)) == (0 if old == new else len(present))
    for number in hashes if old != new else []:
        (unit,) = [unit for unit in units if any(e.bucket == number % old for e in unit.entries)]
        assert number % new in unit.buckets
    if level > 0:
        # Of one level, each new bucket gets the rows of one unit, so that they are one run.
        targets = [bucket for unit in units for bucket in unit.buckets]
        assert len(targets) == len(set(targets))


def test_the_same_files_are_the_same_unit_whatever_their_order() -> None:
    entries = [entry("a", bucket=0, of=2, level=5), entry("b", bucket=1, of=2, level=5)]
    (one,) = plan_rescale(entries, {}, buckets=1)
    (other,) = plan_rescale(entries[::-1], {}, buckets=1)

    assert one.inputs == other.inputs
    assert replace(one, entries=other.entries) == other
