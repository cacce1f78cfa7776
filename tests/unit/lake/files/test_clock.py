"""Clocks return milliseconds since 1970."""

from braid.lake.files.clock import ManualClock, SystemClock


def test_the_system_clock_is_in_this_century() -> None:
    assert 1_600_000_000_000 < SystemClock().now_ms() < 4_100_000_000_000


def test_a_manual_clock_moves_by_advance_only() -> None:
    clock = ManualClock(start_ms=5)
    clock.advance(ms=2)
    clock.advance(ms=-4)

    assert clock.now_ms() == 3
