"""Ranges hold exactly the offsets that were added, and run only over offsets that have no open letter."""

from itertools import pairwise

from hypothesis import given, settings, strategies as st

from braid.lake.commit.streams.offset_ranges import holds_offset, range_count, with_offsets

OFFSETS = st.sets(st.integers(0, 30), max_size=12)


@settings(max_examples=150)
@given(
    first=OFFSETS,
    second=OFFSETS,
    others=OFFSETS,
    window=st.tuples(st.integers(0, 30), st.integers(0, 31)),
)
def test_a_letter_is_in_the_ranges_iff_it_was_added(
    first: set[int], second: set[int], others: set[int], window: tuple[int, int]
) -> None:
    still_open = sorted(others - first - second)
    before = with_offsets({}, {3: first}, still_open={3: sorted(others | second)})
    after = with_offsets(before, {3: second}, still_open={3: still_open})

    assert all(holds_offset(after, 3, offset) for offset in first | second)
    assert not any(holds_offset(after, 3, offset) for offset in still_open)
    assert not holds_offset(after, 4, 0)
    parts = after.get(3, ())
    assert all(start < end for start, end in parts)
    assert all(end < start for (_, end), (start, _) in pairwise(parts))


def test_what_was_not_looked_at_is_not_joined() -> None:
    added = {0: [2, 4, 9]}

    joined = with_offsets({}, added, still_open={}, known={0: ((2, 5),)})

    assert joined == {0: ((2, 5), (9, 10))}
    assert with_offsets({}, added, still_open={}, known={}) == {0: ((2, 3), (4, 5), (9, 10))}
    assert range_count(joined) == 2
