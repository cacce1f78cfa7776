"""Readings of streams: the worst first, and rates from two of them."""

from dataclasses import replace

from braid.cli.watch.readings import Reading, with_rates
from braid.cli.watch.view import readings_text
from braid.schemas import StreamState

ONE = Reading(
    table="shop.orders",
    stream="payments",
    state=StreamState.RUNNING,
    lag_seconds=1.25,
    lag_records=1_200,
    records=5_000,
    dead_letters=0,
    runner="r1",
    failure=None,
)


def test_a_rate_is_the_growth_over_the_time_between() -> None:
    (found,) = with_rates([replace(ONE, records=5_300)], {ONE.key: ONE}, 2.0)

    assert found.records_per_second == 150.0


def test_there_is_no_rate_without_two_readings_that_belong_together() -> None:
    first = with_rates([ONE], {}, 0.0)
    no_time = with_rates([ONE], {ONE.key: ONE}, 0.0)
    again = with_rates(
        [replace(ONE, records=10)], {ONE.key: ONE}, 1.0
    )  # another stream of the name

    assert [one.records_per_second for (one,) in (first, no_time, again)] == [None] * 3


def test_lines_beyond_the_room_are_counted() -> None:
    readings = [replace(ONE, stream=f"s{number}") for number in range(5)]

    table = readings_text(readings, lines_max=2)

    assert [row[1] for row in table.rows] == ["s0", "s1", ""]
    assert table.rows[2][0] == "and 3 more"
    assert table.rows[0][3:7] == ("1.2", "1,200", "-", "5,000")
