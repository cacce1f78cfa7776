"""Lag is computed from offsets; its age is bounded from above, and unknown before there is a bound."""

from braid.pipelines.kafka.lag import Lag, LagMeter


def test_nothing_waits_when_the_table_is_at_the_end() -> None:
    lag = LagMeter().measure(offsets={0: 5, 1: 2}, end={0: 5, 1: 2}, newest_ms=None, now_ms=9_000)

    assert lag == Lag(records=0, seconds=0.0)


def test_a_partition_that_the_table_does_not_know_counts_whole() -> None:
    lag = LagMeter().measure(offsets={0: 5}, end={0: 6, 1: 3}, newest_ms=500, now_ms=2_000)

    assert lag == Lag(records=4, seconds=1.5)


def test_the_age_of_records_that_waited_before_the_start_is_not_known() -> None:
    lag = LagMeter().measure(offsets={0: 0}, end={0: 9}, newest_ms=None, now_ms=5_000)

    assert lag == Lag(records=9, seconds=None)


def test_after_a_restart_the_backlog_of_a_day_is_a_day_old() -> None:
    day_ms = 86_400_000
    lag = LagMeter().measure(offsets={0: 1}, end={0: 9}, newest_ms=1_000, now_ms=day_ms + 1_000)

    assert lag == Lag(records=8, seconds=86_400.0)


def test_after_an_idle_hour_a_new_record_is_not_an_hour_old() -> None:
    meter = LagMeter()
    meter.measure(offsets={0: 5}, end={0: 5}, newest_ms=1_000, now_ms=3_600_000)

    lag = meter.measure(offsets={0: 5}, end={0: 6}, newest_ms=1_000, now_ms=3_602_000)

    assert lag == Lag(records=1, seconds=2.0)


def test_while_catching_up_the_newest_committed_record_bounds_the_age() -> None:
    lag = LagMeter().measure(offsets={0: 5}, end={0: 9}, newest_ms=40_000, now_ms=100_000)

    assert lag == Lag(records=4, seconds=60.0)


def test_clocks_that_differ_give_no_negative_age() -> None:
    lag = LagMeter().measure(offsets={0: 5}, end={0: 9}, newest_ms=200_000, now_ms=100_000)

    assert lag.seconds == 0
