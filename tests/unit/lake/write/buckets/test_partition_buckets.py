"""A new key goes into the first bucket with room, and stays there."""

import random

import numpy as np
import pytest

from braid.lake.errors import CorruptData, LimitExceeded
from braid.lake.format.bucket import Int32Array
from braid.lake.write.buckets.partition_buckets import PartitionBuckets


def hashes(*values: int) -> Int32Array:
    return np.array(values, dtype=np.int32)


def given_buckets(
    indexed: dict[int, list[int]] | None = None, *, target_rows: int = 2, buckets_max: int = -1
) -> PartitionBuckets:
    return PartitionBuckets(
        {bucket: hashes(*values) for bucket, values in (indexed or {}).items()},
        target_rows=target_rows,
        buckets_max=buckets_max,
    )


def changed_hashes(buckets: PartitionBuckets) -> dict[int, list[int]]:
    found = {bucket: sorted(values.tolist()) for bucket, values in buckets.changed_hashes().items()}
    buckets.mark_written()
    return found


def test_new_keys_fill_one_bucket_after_another_in_the_order_they_come() -> None:
    buckets = given_buckets()

    assert buckets.assign(hashes(9, -5, 9, 7, 3, 1)).tolist() == [0, 0, 0, 1, 1, 2]
    assert changed_hashes(buckets) == {0: [-5, 9], 1: [3, 7], 2: [1]}


def test_a_key_that_is_known_stays_where_it_is() -> None:
    buckets = given_buckets({4: [10, 20, 30], 1: [-7]})

    assert buckets.assign(hashes(30, -7, 10)).tolist() == [4, 1, 4]
    assert changed_hashes(buckets) == {}


def test_buckets_with_room_are_filled_before_one_is_made() -> None:
    buckets = given_buckets({3: [1], 1: [2, 4, 6], 2: [5]})

    # Bucket 1 has more than its share already; number 0 is the first that is free.
    assert buckets.assign(hashes(11, 12, 13, 1)).tolist() == [2, 3, 0, 3]
    assert changed_hashes(buckets) == {0: [13], 2: [5, 11], 3: [1, 12]}


def test_only_changed_buckets_are_returned_and_only_once() -> None:
    buckets = given_buckets({0: [1, 2], 1: [3]})
    buckets.assign(hashes(1, 4))

    assert changed_hashes(buckets) == {1: [3, 4]}
    assert changed_hashes(buckets) == {}


def test_changed_buckets_are_returned_until_they_are_written() -> None:
    buckets = given_buckets({0: [5, 1]})
    buckets.assign(hashes(9, 3))

    first = {bucket: values.tolist() for bucket, values in buckets.changed_hashes().items()}

    assert first == {1: [3, 9]}
    assert changed_hashes(buckets) == first
    assert changed_hashes(buckets) == {}


def test_beyond_the_allowed_buckets_all_of_them_grow() -> None:
    buckets = given_buckets({0: [1, 2]}, buckets_max=2)

    assert buckets.assign(hashes(3, 4, 5, 6, 7)).tolist() == [1, 1, 0, 1, 0]
    assert buckets.assign(hashes(7, 3, 5)).tolist() == [0, 1, 0]


def test_beyond_the_allowed_buckets_all_of_them_grow_by_single_keys_too() -> None:
    buckets = given_buckets({0: [1, 2], 1: [3, 4], 2: [5, 6]}, buckets_max=3)

    found = [int(buckets.assign(hashes(key))[0]) for key in range(10, 16)]

    assert found == [0, 1, 2, 0, 1, 2]


def test_more_buckets_than_the_format_can_number_are_refused() -> None:
    buckets = given_buckets(target_rows=1)

    with pytest.raises(LimitExceeded, match=r"raise `dynamic-bucket\.target-row-num`"):
        buckets.assign(np.arange(40_000, dtype=np.int32))


def test_a_key_in_two_buckets_is_damage() -> None:
    with pytest.raises(CorruptData, match="in two buckets"):
        given_buckets({0: [1, 2], 1: [2]})


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_is_assigned_as_its_keys_would_be_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    target_rows = chance.choice([1, 3, 10])
    buckets = given_buckets(target_rows=target_rows)
    known: dict[int, int] = {}
    for _ in range(chance.randrange(1, 12)):
        batch = [chance.randrange(-60, 60) for _ in range(chance.randrange(30))]
        for value in batch:
            counts = [list(known.values()).count(bucket) for bucket in range(len(known) + 1)]
            room = next(b for b, count in enumerate(counts) if count < target_rows)
            known.setdefault(value, room)

        assert buckets.assign(hashes(*batch)).tolist() == [known[value] for value in batch]
    returned = {
        value: bucket for bucket, values in changed_hashes(buckets).items() for value in values
    }
    assert returned == known
