"""Chaos run: a plan carried out on real processes, and what is wrong with their table in the end."""

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from braid.demo.s3_fault_proxy import Faults
from tests.support.chaos.accounts import account_faults, repeated_ranges
from tests.support.chaos.commits import Move, Place
from tests.support.chaos.control_plane import ControlPlane
from tests.support.chaos.letters import letter_faults
from tests.support.chaos.model import expected_rows, row_differences
from tests.support.chaos.plan import (
    Declare,
    Kill,
    Pause,
    Replay,
    SetBack,
    Step,
    StoreFaults,
)
from tests.support.chaos.processes import Processes
from tests.support.chaos.records import Fate, Placed, RecordSource
from tests.support.chaos.streams import (
    COLUMNS,
    IDENTIFIER,
    PAYMENTS,
    STREAMS,
    stream_request,
    table_request,
    topic_of,
)
from tests.support.chaos.table_watch import TableWatch
from tests.support.chaos.topics import Topics, ends_of
from tests.support.standalone_cluster import StandaloneCluster
from tests.support.waiting import wait_until

_LOOKS: Final = 30
"""Looks at the table between two questions for the states of the streams."""
_FAULTS_SHOWN: Final = 40


@dataclass(kw_only=True)
class ChaosOutcome:
    """What came of a run.

    Attributes:
        seed: Of its plan and its records.
        log: What was done, line by line.
        wrong: What is wrong in the end; empty if nothing is.
        letters: Numbers of dead letters, by stream.
        moves: The moves of positions that were asked for.
        injected: Numbers of the store's faults, by kind.
        orphans: Number of files that were deleted in the end, because nothing referred to them.
        executors_lost: The most losses of a cluster's executors that the service has shown of a start of a runner.
    """

    seed: int
    log: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    letters: dict[str, int] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    injected: Mapping[str, int] = field(default_factory=dict)
    orphans: int = 0
    executors_lost: int = 0

    def __str__(self) -> str:
        """Say all that is needed to find out what happened."""
        more = len(self.wrong) - _FAULTS_SHOWN
        shown = self.wrong[:_FAULTS_SHOWN] + ([f"and {more} more"] if more > 0 else [])
        return "\n".join([f"chaos, seed {self.seed}", *self.log, "wrong:", *shown])


def run_chaos(
    work_dir: Path,
    plan: Sequence[Step],
    *,
    seed: int,
    runners: Sequence[str],
    cluster: StandaloneCluster | None = None,
) -> ChaosOutcome:
    """Carry out a plan, let everything come to rest, and compare.

    Args:
        work_dir: Empty folder.
        plan: The plan.
        seed: Of the records.
        runners: The names of the runners.
        cluster: The cluster that they run on; None: this machine.

    Raises:
        AssertionError: Something hangs or fails for good; the message has the log.
    """
    outcome = ChaosOutcome(seed=seed)
    with (
        Processes(work_dir, runners=runners, cluster=cluster) as processes,
        ControlPlane(processes.port, keep=processes.keep) as control,
        Topics(processes.broker) as topics,
        _told(outcome, processes),
    ):
        run = _Run(processes, control, topics, outcome)
        run.begin()
        for step in plan:
            run.carry_out(step)
        run.end()
    return outcome


class _Run:
    """The state of a run."""

    def __init__(
        self, processes: Processes, control: ControlPlane, topics: Topics, outcome: ChaosOutcome
    ) -> None:
        self._processes = processes
        self._control = control
        self._topics = topics
        self._outcome = outcome
        self._source = RecordSource(outcome.seed)
        self._random = random.Random(f"run {outcome.seed}")
        self._watch: TableWatch
        self._looks = 0

    def begin(self) -> None:
        """Create table and streams, and start the workers."""
        self._processes.start_service()
        self._control.put("", table_request())
        self._watch = TableWatch(self._processes.store)
        for stream in STREAMS:
            self._declare(stream, is_mended=False)
            self._control.post(f"/streams/{stream}/start")
        self._processes.start_workers()

    def carry_out(self, step: Step) -> None:
        """Send the records of a step, wait for its moment, and act."""
        before = sum(self._watch.look().values())
        for stream, count in step.records.items():
            self._topics.send(stream, self._source.draw(stream, count))
        goal = before + int(step.moment * sum(step.records.values()))
        self._watch.wait_for(goal, keep=self._keep)
        at = self._watch.commits[-1].snapshot_id if self._watch.commits else 0
        # The time is that of the processes' own logs.
        now = time.strftime("%H:%M:%S")
        self._outcome.log.append(f"{now} snapshot {at}, step {step}")
        done = self._act(step)
        if done:
            self._outcome.log[-1] += f": {done}"
        self._processes.keep()

    def _act(self, step: Step) -> object:
        which = self._random.randrange(1 << 16)
        match step.action:
            case Kill(target):
                return self._processes.kill(target, which)
            case Pause(target, milliseconds):
                return self._processes.pause(target, which, milliseconds=milliseconds)
            case StoreFaults(share):
                self._processes.store.proxy.faults = Faults.of(share)
                return None
            case Declare(stream, is_mended):
                self._declare(stream, is_mended=is_mended)
                return None
            case Replay(stream):
                return self._control.post(f"/streams/{stream}/dead-letters/replay", {})
            case SetBack(stream, share):
                return self._set_back(stream, share)

    def _declare(self, stream: str, *, is_mended: bool) -> None:
        self._control.put(f"/streams/{stream}", stream_request(stream, is_mended=is_mended))

    def _set_back(self, stream: str, share: float) -> list[Move]:
        def has_read() -> bool:
            self._keep()
            at = self._watch.look()
            return any(at[place] > 0 for place in at if place.stream == stream)

        wait_until(has_read, every_s=0.3, what=lambda: f"{stream} reads nothing")
        self._control.post(f"/streams/{stream}/stop")
        moves = self._control.set_back(stream, share)
        self._outcome.moves += moves
        self._control.post(f"/streams/{stream}/start")
        return moves

    def _keep(self) -> None:
        """Start again what was killed, and see now and then that no stream has given up."""
        self._processes.keep()
        self._looks += 1
        if self._looks % _LOOKS == 0:
            for stream in STREAMS:
                status = self._control.get(f"/streams/{stream}/status")
                assert status["state"] != "FAILED", status
            self._note_executors()

    def _note_executors(self) -> None:
        for runner in self._control.runners():
            if runner["executors"] is not None:
                lost = max(self._outcome.executors_lost, runner["executors"]["lost"])
                self._outcome.executors_lost = lost

    def end(self) -> None:
        """Let everything come to rest, replay what was too large, end the workers, and compare."""
        self._processes.store.proxy.faults = Faults()
        self._outcome.injected = dict(self._processes.store.proxy.injected)
        self._topics.flush()
        drawn = self._source.drawn
        records = {stream: self._topics.records(stream, drawn[stream]) for stream in STREAMS}
        ends = {
            place: end
            for stream in STREAMS
            for place, end in ends_of(stream, records[stream]).items()
        }
        self._wait_for(ends)
        for stream in STREAMS:
            self._declare(stream, is_mended=True)
        asked = {stream: self._ask_for_replay(stream) for stream in STREAMS}
        for stream in STREAMS:
            self._await_replay(stream, asked[stream])
        self._check_open(records[PAYMENTS])
        self._check_read_again()
        self._note_executors()
        statuses = self._processes.end_workers()
        # One that has just been started again has no handler of the signal yet.
        usual = (0, -signal.SIGTERM)
        self._wrong(
            [f"{name} ended with {code}" for name, code in statuses.items() if code not in usual]
        )
        self._compare(records, ends)

    def _wait_for(self, ends: Mapping[Place, int]) -> None:
        def has_read_all() -> bool:
            self._keep()
            return self._watch.look() == ends

        wait_until(has_read_all, every_s=0.3, what=lambda: f"{self._watch.look()}, expected {ends}")

    def _ask_for_replay(self, stream: str) -> object:
        path = f"/streams/{stream}/dead-letters/replay"
        return self._control.post(path, {"reasons": ["too_large"]})

    def _await_replay(self, stream: str, asked: object) -> None:
        path = f"/streams/{stream}/dead-letters"
        results: list[dict[str, Any]] = []

        def has_ended() -> bool:
            self._keep()
            replay = self._control.get(f"{path}?limit=0")["replay"]
            results[:] = [replay["result"]] if replay["result"] is not None else []
            return bool(results)

        wait_until(has_ended, every_s=0.5, what=lambda: f"replay {asked} of {stream} goes on")
        (result,) = results
        self._outcome.log.append(f"last replay of {stream}: {result}")
        if result["failed_again"] or result["left"] or result["error"]:
            self._wrong([f"the last replay of {stream}: {result}"])

    def _check_open(self, records: Sequence[Placed]) -> None:
        """Compare the open dead letters of the stream that never reads again."""
        counts = self._control.get(f"/streams/{PAYMENTS}/dead-letters?limit=0")["counts"]
        expected = sum(one.record.fate is Fate.LETTER for one in records)
        if counts["open"] != expected:
            self._wrong([f"open dead letters of {PAYMENTS}: {counts}, expected {expected}"])

    def _check_read_again(self) -> None:
        """Compare the ranges that the service names with those of the moves."""
        expected = repeated_ranges(self._outcome.moves)
        found = {
            Place(stream, int(partition)): [(one["start"], one["end"]) for one in ranges]
            for stream in STREAMS
            for partition, ranges in self._control.get(f"/streams/{stream}/offsets")[
                "read_again"
            ].items()
            if ranges
        }
        if found != {place: [tuple(one) for one in ranges] for place, ranges in expected.items()}:
            self._wrong([f"read again: the service names {found}, expected {expected}"])

    def _compare(self, records: Mapping[str, Sequence[Placed]], ends: Mapping[Place, int]) -> None:
        self._watch.look()
        commits = self._watch.commits
        self._wrong(account_faults(commits, ends=ends, moved=self._outcome.moves))
        for stream in STREAMS:
            letters = self._topics.letters(stream)
            self._outcome.letters[stream] = len(letters)
            batches = [c.batch for c in commits if c.batch and c.batch.stream == stream]
            topic = topic_of(stream)
            self._wrong(
                letter_faults(letters, topic=topic, records=records[stream], batches=batches)
            )
        expected = expected_rows(records)
        self._wrong(row_differences(self._rows(), expected))
        status = self._processes.run("compact", "compact", IDENTIFIER)
        self._wrong([f"the last compaction ended with {status}"] if status else [])
        compacted = row_differences(self._rows(), expected)
        self._wrong([f"after compaction, {line}" for line in compacted])
        self._clean_up(expected)
        self._outcome.log.append(
            f"{len(commits)} commits, {len(expected)} rows, {sum(ends.values())} records, "
            f"{self._outcome.letters} letters, {dict(self._outcome.injected)} faults of the store"
        )

    def _clean_up(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Delete what nothing refers to, now that nobody writes: the rows are the same without it."""
        table = self._watch.table()
        latest = table.latest_snapshot()
        assert latest is not None, "the table has records"
        paths = Counter(entry.file.file_name for entry in table.live_files(latest))
        self._wrong([f"{path} is referenced {n} times" for path, n in paths.items() if n > 1])
        report = table.clean_orphans(min_age_ms=0, delete=True)
        self._outcome.orphans = len(report.files)
        self._wrong([f"{one.path} is left" for one in table.clean_orphans(min_age_ms=0).files])
        lost = row_differences(self._rows(), expected)
        self._wrong([f"after cleaning, {line}" for line in lost])

    def _rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            self._watch.table().scan(columns=list(COLUMNS)).to_arrow().to_pylist()
        )
        return found

    def _wrong(self, lines: Sequence[str]) -> None:
        self._outcome.wrong += lines


@contextmanager
def _told(outcome: ChaosOutcome, processes: Processes) -> Iterator[None]:
    """Add the log to what an error says."""
    try:
        yield
    except Exception as error:
        message = f"{outcome}\n{processes.log_tails()}\n{type(error).__name__}: {error}"
        raise AssertionError(message) from error
