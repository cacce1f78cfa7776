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
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from braid.lake import Clock, FileIO
from braid.registry.store import paths
from braid.registry.store.observed_ages import ObservedAges
from braid.registry.store.stored_documents import parse_stored
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One runner's report of one stream.

    Attributes:
        runner: The runner's name.
        updated_ms: Time of the report, milliseconds since the epoch, UTC, by the reader's clock.
        progress: The stream's progress.
    """

    runner: str
    updated_ms: int
    progress: StreamProgress


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
        self, file_io: FileIO, warehouse: str, clock: Clock, *, ages: ObservedAges | None = None
    ) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: The reader's clock.
            ages: The reports that this process has read already; None: none.
        """
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self._ages = ages or ObservedAges()

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
        """Return the reports of every runner that ever ran. One list and one read per runner.

        `updated_ms` of each is the time by this reader's clock, which is as far back as the report is old.
        """
        found, unreadable = [], []
        for status in self._file_io.list(paths.runners_directory(self._warehouse)):
            if status.is_directory or not status.name.endswith(paths.RUNNER_SUFFIX):
                continue  # a temporary file of an overwrite
            try:
                data = self._file_io.read_bytes(status.path)
                progress = parse_stored(RunnerProgress, data)
            except ValidationError:
                unreadable.append(status.name.removesuffix(paths.RUNNER_SUFFIX))
            except FileNotFoundError:
                continue
            else:
                now_ms = self._clock.now_ms()
                age_ms = self._ages.observe(status.path, data, age_ms=now_ms - status.modified_ms)
                found.append(progress.model_copy(update={"updated_ms": now_ms - age_ms}))
        return RunnerReports(
            runners=tuple(sorted(found, key=lambda progress: progress.runner)),
            unreadable=tuple(sorted(unreadable)),
        )


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
            report.updated_ms >= alive_since_ms,
            progress.state is not StreamState.UNASSIGNED,
            progress.epoch or 0,
            report.updated_ms,
        )

    return max(_reports(runners, key), key=rank, default=None)


def _reports(runners: Iterable[RunnerProgress], key: str) -> list[Report]:
    return [
        Report(runner=runner.runner, updated_ms=runner.updated_ms, progress=runner.streams[key])
        for runner in runners
        if key in runner.streams
    ]
