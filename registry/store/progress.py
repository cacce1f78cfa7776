"""Progress reports of runners: one document per runner, overwritten every few seconds.

Reports have no versions, because only the newest one counts. The table has what a stream has committed. A report decides

- where a stream continues if no remaining snapshot has its position;
- whether the verbs `start` and `resume` have any effect;
- to which offsets a position may be set;
- whether a backfill waits for its stream;
- the numbers from which a runner continues to count dead letters by reason.

A report that was not written for some seconds belongs to a runner that is gone; `observed_ages` computes its age. Of a report
that cannot be read only the runner's name is shown. It does not affect the reports of other runners, and its runner
overwrites it with its next report.

A runner that ends in order says so in its last report (`has_ended`), and is gone from then on. The service deletes the document of a
runner that has been gone for a week, unless one of its reports still decides something of the above (`superseded_reports`).

A process reads a document again only if its size or time has changed since. Some storages date files in whole seconds, so the content
is trusted only if it was read `SETTLED_S` after the first sight of that size and time.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from pydantic import ValidationError

from braid.lake import Clock, FileIO, FileStatus
from braid.registry.store import paths
from braid.registry.store.observed_ages import ObservedAges
from braid.registry.store.stored_documents import parse_stored
from braid.registry.store.superseded_reports import superseded_reports
from braid.schemas import RunnerProgress, StreamProgress, StreamState

__all__ = [
    "ProgressStore",
    "Report",
    "RunnerProgress",
    "RunnerReports",
    "StreamProgress",
    "current_report",
    "newest_report",
    "stream_key",
]


SETTLED_S: Final = 2.0
"""Time after which a file of a listed size and time is not replaced by another one of the same size and time, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One runner's report of one stream.

    Attributes:
        runner: The runner's name.
        updated_ms: Time of the report, milliseconds since the epoch, UTC, by the reader's clock.
        progress: The stream's progress.
        has_ended: The runner has ended in order.
    """

    runner: str
    updated_ms: int
    progress: StreamProgress
    has_ended: bool = False

    def is_alive(self, since_ms: int) -> bool:
        """Return whether the runner is alive (`RunnerProgress.is_alive`)."""
        return not self.has_ended and self.updated_ms >= since_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerReports:
    """The reports of all runners.

    Attributes:
        runners: The documents that can be read, in the order of the runners' names.
        unreadable: Names of the runners whose documents cannot be read, in alphabetical order.
    """

    runners: tuple[RunnerProgress, ...]
    unreadable: tuple[str, ...] = ()


class ProgressStore:
    """Reads and writes the progress documents of a warehouse."""

    def __init__(
        self,
        file_io: FileIO,
        warehouse: str,
        clock: Clock,
        *,
        ages: ObservedAges | None = None,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: The reader's clock.
            ages: The reports that this process has read already; None: none.
            steady_s: A clock that nobody sets, seconds.
        """
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self._ages = ages or ObservedAges()
        self._steady_s = steady_s
        self._lock = threading.Lock()
        self._read: dict[str, _Read] = {}

    def write(self, progress: RunnerProgress) -> None:
        """Replace the runner's document."""
        path = paths.runner_file(self._warehouse, progress.runner)
        self._file_io.overwrite(path, progress.model_dump_json().encode())

    def heartbeats(self) -> Mapping[str, int]:
        """Return when runners have last written their documents, by name. One list.

        Milliseconds since the epoch by storage's clock, also of documents that cannot be read.
        """
        return {
            status.name.removesuffix(paths.RUNNER_SUFFIX): status.modified_ms
            for status in self._file_io.list(paths.runners_directory(self._warehouse))
            if not status.is_directory and status.name.endswith(paths.RUNNER_SUFFIX)
        }

    def read(self, runner: str) -> RunnerProgress | None:
        """Return the document of one runner as it is stored; None: there is none that can be read. One read."""
        try:
            data = self._file_io.read_bytes(paths.runner_file(self._warehouse, runner))
            return parse_stored(RunnerProgress, data)
        except (FileNotFoundError, ValidationError):
            return None

    def read_all(self) -> RunnerReports:
        """Return the reports of every runner whose document is there. One list, and one read of each document that may have changed.

        `updated_ms` of each is the time by this reader's clock, which is as far back as the report is old.
        """
        found, unreadable = [], []
        for status, read in self._current():
            if read.progress is None:
                unreadable.append(status.name.removesuffix(paths.RUNNER_SUFFIX))
                continue
            now_ms = self._clock.now_ms()
            age_ms = self._ages.observe(
                status.path, read.digest, age_ms=now_ms - status.modified_ms
            )
            found.append(read.progress.model_copy(update={"updated_ms": now_ms - age_ms}))
        return RunnerReports(
            runners=tuple(sorted(found, key=lambda progress: progress.runner)),
            unreadable=tuple(sorted(unreadable)),
        )

    def remove_dead(self, is_needed: Callable[[str], bool], *, retention_ms: int) -> list[str]:
        """Delete the documents of runners that are long gone, and return their names.

        The reports that decide something stay (`superseded_reports`). A runner that is not gone after all writes its document
        again with its next report.

        Args:
            is_needed: Returns whether reports of a stream are needed, by the stream's key.
            retention_ms: Age from which a document is deleted, milliseconds.
        """
        found = {
            status.path: (status.modified_ms, read.progress)
            for status, read in self._current()
            if read.progress is not None
        }
        now_ms = self._clock.now_ms()
        superseded = superseded_reports(found, is_needed)
        removed = []
        for path in sorted(superseded):
            # By the storage's clock and this one, which may differ: that matters little for an age of days.
            modified_ms = found[path][0]
            if now_ms - modified_ms < retention_ms:
                continue
            if self._file_io.modified_ms(path) in (modified_ms, None) and self._file_io.delete(
                path
            ):
                removed.append(path.rsplit("/", 1)[-1].removesuffix(paths.RUNNER_SUFFIX))
        return removed

    def _current(self) -> "list[tuple[FileStatus, _Read]]":
        """Return the documents that are there, from memory where they have not changed."""
        with self._lock:
            known = self._read
        current: list[tuple[FileStatus, _Read]] = []
        for status in self._file_io.list(paths.runners_directory(self._warehouse)):
            if status.is_directory or not status.name.endswith(paths.RUNNER_SUFFIX):
                continue  # a temporary file of an overwrite
            before, now_s = known.get(status.path), self._steady_s()
            is_same = before is not None and before.is_of(status)
            if before is not None and is_same and before.is_settled:
                current.append((status, before))
                continue
            first_s = before.first_s if before is not None and is_same else now_s
            try:
                data = self._file_io.read_bytes(status.path)
            except FileNotFoundError:
                continue
            current.append((status, _Read.of(data, status, first_s=first_s, read_s=now_s)))
        with self._lock:
            self._read = {status.path: read for status, read in current}
        return current


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A document as it was read.

    Attributes:
        digest: Digest of its content.
        progress: The report; None: it cannot be read.
        size: Bytes, as listed before it was read.
        modified_ms: Time of the write, as listed before it was read.
        first_s: When a file of this size and time was listed first, seconds by the steady clock.
        read_s: When it was read.
    """

    digest: bytes
    progress: RunnerProgress | None
    size: int
    modified_ms: int
    first_s: float
    read_s: float

    @classmethod
    def of(cls, data: bytes, status: FileStatus, *, first_s: float, read_s: float) -> "_Read":
        """Return what was read of a listed file."""
        try:
            progress = parse_stored(RunnerProgress, data)
        except ValidationError:
            progress = None
        return cls(
            digest=blake2b(data, digest_size=16).digest(),
            progress=progress,
            size=status.size,
            modified_ms=status.modified_ms,
            first_s=first_s,
            read_s=read_s,
        )

    def is_of(self, status: FileStatus) -> bool:
        """Return whether a listed file has the size and time of the one that was read."""
        return (self.size, self.modified_ms) == (status.size, status.modified_ms)

    @property
    def is_settled(self) -> bool:
        """Whether every later write has another time: storage dates files in whole seconds at worst."""
        return self.read_s - self.first_s >= SETTLED_S


def stream_key(identifier: str, stream: str) -> str:
    """Return the key of a stream in `RunnerProgress.streams`: `<database>.<table>/<stream>`."""
    return f"{identifier}/{stream}"


def newest_report(runners: Iterable[RunnerProgress], key: str) -> Report | None:
    """Return the report with the latest commits of a stream, or None.

    After a stream has moved, the documents of two runners contain it. The report with the higher epoch is
    from the later owner; of equal epochs the later report counts.
    """
    reports = _reports(runners, key)
    return max(reports, key=lambda r: (r.progress.epoch or 0, r.updated_ms), default=None)


def current_report(
    runners: Iterable[RunnerProgress], key: str, *, alive_since_ms: int
) -> Report | None:
    """Return the report with the current state of a stream, or None.

    Several documents may contain the stream: that of a runner that is gone, of a runner that waits for the
    lease, and of a runner that had the stream before it moved. Living runners come before gone ones, then
    runners that have the stream before runners that wait for it; otherwise as in `newest_report`.

    Args:
        runners: All reports.
        key: `stream_key` of the stream.
        alive_since_ms: A runner whose report is older is gone; milliseconds since the epoch.
    """

    def rank(report: Report) -> tuple[bool, bool, int, int]:
        progress = report.progress
        return (
            report.is_alive(alive_since_ms),
            progress.state is not StreamState.UNASSIGNED,
            progress.epoch or 0,
            report.updated_ms,
        )

    return max(_reports(runners, key), key=rank, default=None)


def _reports(runners: Iterable[RunnerProgress], key: str) -> list[Report]:
    return [
        Report(
            runner=runner.runner,
            updated_ms=runner.updated_ms,
            progress=runner.streams[key],
            has_ended=runner.has_ended,
        )
        for runner in runners
        if key in runner.streams
    ]
