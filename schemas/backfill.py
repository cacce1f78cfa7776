"""Report of the process of a backfill."""

from enum import StrEnum

from braid.schemas.contract import Contract


class BackfillState(StrEnum):
    """The state of a backfill.

    RUNNING: it reads. WAITING: it is held back, because the live stream is behind. FINISHED: all of its records
    are in the table. STOPPED: its process has ended, or does not report any more; started again, it continues.
    """

    RUNNING = "RUNNING"
    WAITING = "WAITING"
    FINISHED = "FINISHED"
    STOPPED = "STOPPED"


class BackfillReport(Contract):
    """The report of a backfill's process, overwritten every few seconds.

    Attributes:
        stream: The stream's name.
        name: The backfill's name.
        state: Its state.
        done: The part of the source that was read, from 0 to 1.
        rows: Rows read since the backfill began, those included that are not committed yet.
        rows_per_second: Rows a second since the process has started; None before the first ones, and once it has ended.
        seconds_left: Estimated time until the end, at the speed so far; None while that is not known, and once the
            process has ended.
        updated_ms: Time of the report, milliseconds since the epoch, UTC.
        error: Why the process has ended, without the folders of files; None while it runs, and after the end of the
            backfill.
    """

    stream: str
    name: str
    state: BackfillState
    done: float
    rows: int
    rows_per_second: float | None = None
    seconds_left: float | None = None
    updated_ms: int
    error: str | None = None
