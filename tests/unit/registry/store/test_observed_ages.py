"""The age of a document is that of its times, within what was seen of it."""

import pytest

from braid.registry.store.observed_ages import ObservedAges

DAY_MS = 86_400_000


class Watch:
    """One document, looked at now and then."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.ages = ObservedAges(lambda: self.now_s)

    def age_ms(self, content: bytes, *, clocks_ms: int, after_s: float = 0) -> int:
        """Return the age at a look, by clocks that say it is `clocks_ms`."""
        self.now_s += after_s
        return self.ages.observe("r1", content, age_ms=clocks_ms)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.mark.parametrize(("clocks_ms", "expected"), [(DAY_MS, DAY_MS), (3, 3), (-DAY_MS, 0)])
def test_at_the_first_look_the_clocks_decide(watch: Watch, clocks_ms: int, expected: int) -> None:
    assert watch.age_ms(b"1", clocks_ms=clocks_ms) == expected


def test_what_does_not_change_ages_although_it_is_dated_tomorrow(watch: Watch) -> None:
    found = [watch.age_ms(b"1", clocks_ms=-DAY_MS, after_s=5) for _ in range(4)]

    assert found == [0, 5_000, 10_000, 15_000]


def test_what_changes_is_young_although_it_is_dated_yesterday(watch: Watch) -> None:
    watch.age_ms(b"0", clocks_ms=DAY_MS)
    found = [watch.age_ms(b"%d" % n, clocks_ms=DAY_MS, after_s=2) for n in range(1, 4)]
    watch.age_ms(b"3", clocks_ms=DAY_MS, after_s=7)

    assert found == [2_000] * 3
    assert watch.age_ms(b"3", clocks_ms=DAY_MS, after_s=7) == 16_000


def test_within_what_was_seen_the_clocks_decide(watch: Watch) -> None:
    watch.age_ms(b"0", clocks_ms=0)

    assert watch.age_ms(b"1", clocks_ms=1_500, after_s=3_600) == 1_500
    assert watch.age_ms(b"1", clocks_ms=3_500, after_s=2) == 3_500
