"""Progress of a backfill: shown to the person who started it, and reported for the status of the stream."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from braid.lake import BatchAccount, Clock, StorageUnavailable
from braid.schemas import BackfillReport, BackfillState

_REPORT_MS: Final = 2_000


@dataclass(kw_only=True)
class Progress:
    """How far a backfill is.

    Attributes:
        stream: The stream's name.
        name: The backfill's name.
        clock: The clock.
        report: Stores a report.
        show: Shows a line to the person who started it.
    """

    stream: str
    name: str
    clock: Clock
    report: Callable[[BackfillReport], None]
    show: Callable[[str], None]
    rows: int = field(default=0, init=False)
    done: float = field(default=0.0, init=False)
    account: BatchAccount = field(default=BatchAccount(), init=False)
    _rows_before: int = field(default=0, init=False)
    _done_before: float | None = field(default=None, init=False)
    _started_ms: int = field(default=0, init=False)
    _reported_ms: int = field(default=0, init=False)
    _is_waiting: bool = field(default=False, init=False)
    _has_begun: bool = field(default=False, init=False)

    def begin(self, source: str, account: BatchAccount) -> None:
        """Begin, or begin again at what is committed.

        Args:
            source: Where records come from, in words.
            account: Account of what is in the table.
        """
        self._has_begun = True
        self.account = account
        self.rows = self._rows_before = account.records
        self._started_ms = self.clock.now_ms()
        # Where this process continues is known with the first rows.
        self._done_before = None if account.records else 0.0
        how = f"continues after {account.records} rows" if account.records else "begins"
        self.show(f"backfill {self.name} of {self.stream} {how}: {source}")

    def read(self, rows: int, done: float) -> None:
        """Note rows that were read."""
        if self._done_before is None:
            self._done_before = done
        self.rows += rows
        self.done = done
        self._is_waiting = False
        self._tell()

    def committed(self, account: BatchAccount) -> None:
        """Note a commit."""
        self.account = account

    def wait(self, is_behind: bool) -> None:
        """Note a pause, and whether the live stream is behind."""
        self._is_waiting = is_behind
        self._tell()

    def end(self, error: str | None) -> None:
        """Report the end: of the backfill, or of its process with an error.

        A process that ends before it has begun reports nothing: it changed nothing, and there may be the report of
        an earlier one.

        Args:
            error: Why the process ends, to be shown over HTTP; None at the end of the backfill.
        """
        if not self._has_begun:
            return
        state = BackfillState.FINISHED if error is None else BackfillState.STOPPED
        self._write(self._as_report(state, error=error))

    @property
    def rows_per_second(self) -> float | None:
        """Rows a second since the process has begun; None before the first ones."""
        seconds = (self.clock.now_ms() - self._started_ms) / 1000
        rows = self.rows - self._rows_before
        return rows / seconds if rows and seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Estimated time until the end; None while it is not known."""
        seconds = (self.clock.now_ms() - self._started_ms) / 1000
        part = self.done - (self._done_before or 0.0)
        return seconds / part * (1 - self.done) if part > 0 and seconds > 0 else None

    def _tell(self) -> None:
        now_ms = self.clock.now_ms()
        if now_ms - self._reported_ms < _REPORT_MS:
            return
        self._reported_ms = now_ms
        state = BackfillState.WAITING if self._is_waiting else BackfillState.RUNNING
        self._write(self._as_report(state))
        speed, left = self.rows_per_second, self.seconds_left
        parts = [f"{self.rows} rows", f"{self.done:.1%}"]
        parts += [] if speed is None else [f"{speed:,.0f} rows/s"]
        parts += [] if left is None else [f"{left:,.0f} s left"]
        parts += [f"{self.account.dead_lettered} refused"] if self.account.dead_lettered else []
        parts += ["waits for the live stream"] if self._is_waiting else []
        self.show(", ".join(parts))

    def _as_report(self, state: BackfillState, *, error: str | None = None) -> BackfillReport:
        is_running = state in (BackfillState.RUNNING, BackfillState.WAITING)
        return BackfillReport(
            stream=self.stream,
            name=self.name,
            state=state,
            done=1.0 if state is BackfillState.FINISHED else self.done,
            rows=self.rows,
            rows_per_second=self.rows_per_second if is_running else None,
            seconds_left=self.seconds_left if is_running else None,
            updated_ms=self.clock.now_ms(),
            error=error,
        )

    def _write(self, report: BackfillReport) -> None:
        try:
            self.report(report)
        except StorageUnavailable as error:
            # The position in the table counts; a report that is not written only shows less.
            self.show(f"warning: the report of the backfill cannot be written: {error}")
