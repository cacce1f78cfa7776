"""Micro-batches of records whose sizes keep their mean are between 0.4 and 1 times the declared size."""

import pytest
from hypothesis import given, strategies as st

from braid.pipelines.pace.batch_bytes import BytesRule, RecordSizes

RULE = BytesRule(records_max=1 << 20, bytes_max=1 << 24, message_bytes_max=1 << 20)


def bound(halvings: int) -> int:
    return max(1, RULE.records_max >> halvings)


def test_the_first_micro_batch_fits_records_of_the_largest_size() -> None:
    assert bound(RULE.first()) == RULE.bytes_max // RULE.message_bytes_max


@given(
    st.integers(0, 20),
    st.lists(st.integers(1, 1 << 20), max_size=5),
    st.integers(16, 1 << 20),
)
def test_a_full_micro_batch_has_the_declared_size_once_the_mean_is_known(
    halvings: int, before: list[int], size: int
) -> None:
    sizes = RecordSizes()
    for other in before:
        sizes = sizes.after(1, other)
        halvings = RULE.next(halvings, sizes)
    # The weight of the older micro-batches halves each time.
    for _ in range(40):
        sizes = sizes.after(bound(halvings), bound(halvings) * size)
        halvings = RULE.next(halvings, sizes)

    is_whole = halvings == 0  # the number of records is the smaller bound
    assert is_whole or 0.39 * RULE.bytes_max <= bound(halvings) * size
    assert bound(halvings) * size <= RULE.bytes_max * 1.001


@given(st.integers(16, 1 << 10), st.integers(1, 1 << 10))
def test_one_micro_batch_exceeds_the_size_by_the_growth_of_the_mean_at_most(
    size: int, growth: int
) -> None:
    sizes = RecordSizes().after(1, size)
    halvings = RULE.next(RULE.first(), sizes)
    larger = size * growth

    assert bound(halvings) * larger <= RULE.bytes_max * growth
    sizes = sizes.after(bound(halvings), bound(halvings) * larger)
    # The mean of the next plan still has a share of smaller records, of a third at most.
    assert bound(RULE.next(halvings, sizes)) * larger <= RULE.bytes_max * 1.5


def test_small_changes_of_the_mean_leave_the_bound() -> None:
    sizes = [RecordSizes(1, size) for size in (1_000, 900, 820, 1_020)]

    halvings = [RULE.next(RULE.next(0, sizes[0]), one) for one in sizes]

    assert len(set(halvings)) == 1


def test_a_record_larger_than_the_bound_is_read_alone() -> None:
    assert bound(RULE.next(0, RecordSizes(1, 1 << 30))) == 1


def test_a_micro_batch_without_records_changes_no_mean() -> None:
    sizes = RecordSizes().after(4, 400)

    assert sizes.after(0, 0) is sizes
    assert RecordSizes().mean is None


@pytest.mark.parametrize("halvings", [0, 5])
def test_without_a_mean_the_bound_stays(halvings: int) -> None:
    assert RULE.next(halvings, RecordSizes()) == halvings
