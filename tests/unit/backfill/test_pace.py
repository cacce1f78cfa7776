"""A backfill works its share of the time, and waits while the live stream is behind."""

from braid.backfill.pace import COMPACTION_WAIT_MS, Pace, PaceSettings
from braid.lake import ManualClock


def test_a_share_of_the_time_is_spent_at_work() -> None:
    clock = ManualClock()
    pace = given_pace(clock, share=0.25)
    started_ms = clock.now_ms()
    pace.start()

    for _ in range(10):
        clock.advance(ms=300)
        pace.hold(1_000)

    assert clock.now_ms() - started_ms == 12_000


def test_no_more_rows_a_second_than_allowed() -> None:
    clock = ManualClock()
    pace = given_pace(clock, rows_per_second=500)
    started_ms = clock.now_ms()
    pace.start()

    for _ in range(4):
        clock.advance(ms=100)
        pace.hold(1_000)

    assert clock.now_ms() - started_ms == 8_000


def test_it_waits_until_the_stream_has_caught_up() -> None:
    clock, waits = ManualClock(), list[bool]()
    lags = iter([3.0, 20.0, 12.0, 9.0, None, 11.0, None])
    pace = given_pace(clock, lag_seconds_max=10, lags=lags, waits=waits)
    pace.start()

    pace.hold(1)
    clock.advance(ms=2_000)
    pace.hold(1)
    assert waits == [True, True]
    pace.hold(1)  # not looked at again within two seconds
    clock.advance(ms=2_000)
    pace.hold(1)
    clock.advance(ms=2_000)
    pace.hold(1)

    assert waits == [True, True, True]


def test_it_waits_for_compaction_while_the_stream_runs() -> None:
    clock, waits = ManualClock(), list[bool]()
    pace = given_pace(clock, lags=iter([0.0]), waits=waits)
    behind = iter([True, True, False])

    pace.yield_to_compaction(behind.__next__)

    assert waits == [True, True]


def test_it_does_not_wait_for_compaction_without_a_stream() -> None:
    waits = list[bool]()
    pace = given_pace(ManualClock(), lags=iter([None]), waits=waits)

    pace.yield_to_compaction(lambda: True)

    assert waits == []


def test_it_does_not_wait_for_compaction_for_ever() -> None:
    clock = ManualClock()
    started_ms = clock.now_ms()
    pace = given_pace(clock, lags=iter([0.0]))

    pace.yield_to_compaction(lambda: True)

    assert clock.now_ms() - started_ms == COMPACTION_WAIT_MS


def given_pace(
    clock: ManualClock,
    *,
    lags: object = iter(()),
    waits: list[bool] | None = None,
    **settings: float,
) -> Pace:
    assert hasattr(lags, "__next__")
    return Pace(
        settings=PaceSettings(**settings),
        clock=clock,
        sleep_ms=lambda duration_ms: clock.advance(ms=duration_ms),
        lag_seconds=lags.__next__,
        on_wait=lambda is_behind: waits.append(is_behind) if waits is not None else None,
    )
