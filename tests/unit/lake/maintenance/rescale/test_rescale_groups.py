"""Groups of new buckets that are written in one pass: by their bytes, not by their number."""

import numpy as np
from hypothesis import given, strategies as st

from braid.lake.maintenance.rescale.rescale_groups import BucketGroup, BucketSizes


def sizes_of(*parts: tuple[list[int], int]) -> BucketSizes:
    sizes = BucketSizes()
    for buckets, size in parts:
        sizes.add(np.array(buckets, dtype=np.int32), size)
    return sizes


def test_small_buckets_go_together_however_many_they_are() -> None:
    sizes = sizes_of(([5, 9, 2_000_000_000], 30), ([9, 7], 20))

    assert list(sizes.groups(count_max=2, bytes_max=50)) == [
        BucketGroup(first=5, last=2_000_000_000, count=4)
    ]


def test_large_buckets_go_by_their_number() -> None:
    sizes = sizes_of(([1, 2, 3, 4, 5], 500))

    assert list(sizes.groups(count_max=2, bytes_max=50)) == [
        BucketGroup(first=1, last=2, count=2),
        BucketGroup(first=3, last=4, count=2),
        BucketGroup(first=5, last=5, count=1),
    ]


def test_without_rows_there_is_nothing_to_write() -> None:
    assert list(sizes_of(([], 0)).groups(count_max=2, bytes_max=50)) == []


@given(
    parts=st.lists(
        st.tuples(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 1_000)),
        max_size=8,
    ),
    count_max=st.integers(1, 5),
    bytes_max=st.integers(1, 500),
)
def test_every_bucket_is_in_one_group_and_readings_are_few(
    parts: list[tuple[list[int], int]], count_max: int, bytes_max: int
) -> None:
    groups = list(sizes_of(*parts).groups(count_max=count_max, bytes_max=bytes_max))

    present = sorted({bucket for buckets, _ in parts for bucket in buckets})
    members = [
        np.array(present, dtype=np.int32)[group.holds(np.array(present))] for group in groups
    ]
    assert [bucket for some in members for bucket in some.tolist()] == present
    assert [group.count for group in groups] == [len(some) for some in members]
    total = sum(size for _, size in parts)
    assert len(groups) <= 1 + 2 * total / bytes_max
