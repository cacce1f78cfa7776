"""Progress is shown in rows, parts and speed, and reported until the end."""

import pytest

from braid.backfill.progress import Progress
from braid.lake import BatchAccount, ManualClock
from braid.schemas import BackfillReport, BackfillState


def test_speed_and_time_left_follow_from_what_this_process_has_read() -> None:
    clock, reports, lines = ManualClock(), list[BackfillReport](), list[str]()
    progress = Progress(
        stream="s", name="history", clock=clock, report=reports.append, show=lines.append
    )

    progress.begin("2 csv files at /data", BatchAccount(accepted=100, dead_lettered=1))
    clock.advance(ms=1_000)
    progress.read(50, 0.5)
    clock.advance(ms=4_000)
    progress.read(50, 0.6)
    progress.wait(True)
    clock.advance(ms=5_000)
    progress.wait(True)
    progress.end(None)

    assert lines == [
        "backfill history of s continues after 101 rows: 2 csv files at /data",
        "151 rows, 50.0%, 50 rows/s, 1 refused",
        "201 rows, 60.0%, 20 rows/s, 20 s left, 1 refused",
        "201 rows, 60.0%, 10 rows/s, 40 s left, 1 refused, waits for the live stream",
    ]
    assert [report.state for report in reports] == [
        BackfillState.RUNNING,
        BackfillState.RUNNING,
        BackfillState.WAITING,
        BackfillState.FINISHED,
    ]
    assert reports[1].rows_per_second == 20.0
    assert reports[1].seconds_left == pytest.approx(20.0)
    assert (reports[-1].done, reports[-1].rows_per_second) == (1.0, None)


def test_a_process_that_ends_with_an_error_says_so_if_it_has_begun() -> None:
    reports = list[BackfillReport]()
    progress = Progress(
        stream="s",
        name="history",
        clock=ManualClock(),
        report=reports.append,
        show=lambda _: None,
    )

    progress.end("there are no files")
    assert reports == []
    progress.begin("1 csv file of part.csv", BatchAccount())
    progress.end("part.csv cannot be read")

    assert (reports[0].state, reports[0].error) == (
        BackfillState.STOPPED,
        "part.csv cannot be read",
    )
