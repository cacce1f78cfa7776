"""Sweep of faults over one operation: a fault at each of its storage calls.

The operation runs once without a fault, which records its calls. Then it runs again for each of them, on a
copy of the same storage: the process dies before, in the middle of, or after the call; or the call fails,
without an effect or with its answer lost, once or from then on, and the process continues.

Faults at different calls often leave the same files. Such an end is yielded once, because checking it again
would give the same result.

`make test` injects faults at a share of the calls, `make soak` at each of them (`SWEEP_SHARE=1`).
Tests that sweep have the marker `sweep`.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from braid.lake import FileIO, LakeError, MemoryFileIO, Table
from tests.support.faulty_file_io import STREAM_CALLS, Died, FaultyFileIO, Moment
from tests.support.table_files import copied, paths_below

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HINTS = ("/LATEST", "/EARLIEST")
"""Ends of the paths of files that are replaced."""
_HALVED = frozenset({"write_new", "create_exclusive", "overwrite", "write"})
_READS = frozenset(
    {
        "read",
        "read_bytes",
        "read_range",
        "open_input",
        "list",
        "exists",
        "size",
        "modified_ms",
        "sync_directory",
    }
)
"""Calls without an effect on files; the effect of syncing is tested by `power_sweep`."""


SHARE = 20
"""A fault is injected at one call in this many; `SWEEP_SHARE` in the environment overrides it."""

Outcome: TypeAlias = tuple[object, ...]
"""Ends of an operation with equal outcomes leave equivalent storage."""


def _share() -> int:
    return int(os.environ.get("SWEEP_SHARE", SHARE))


@dataclass(frozen=True, kw_only=True)
class End:
    """Storage and error after a fault.

    Attributes:
        fault: Description of the fault.
        method: Of the call.
        file_io: The storage, without the fault.
        error: `Died`, an error of the engine, or None for success.
        outcome: Of the storage.
    """

    fault: str
    method: str
    file_io: MemoryFileIO
    error: type[BaseException] | None
    outcome: Outcome


@dataclass(kw_only=True)
class Sweep:
    """An operation on a table, and the faults that can interrupt it.

    Attributes:
        given: Storage before the operation; is not changed.
        opened: Opens the table there, in the same way each time.
        act: The operation.
        reads_all: Inject a fault at every read of an open file, not only the first.
        share: A fault is injected at one call in this many, and at each call on a snapshot's file: those
            decide whether the operation has taken effect.
        others: Acts of another process on this storage just before a snapshot is first created.
        endings: The number of faults so far by the error of the operation.
    """

    given: MemoryFileIO
    opened: Callable[[FileIO], Table]
    act: Callable[[Table], object]
    reads_all: bool = False
    share: int = field(default_factory=_share)
    others: Callable[[FileIO], object] | None = None
    endings: dict[type[BaseException] | None, int] = field(default_factory=dict)

    @cached_property
    def calls(self) -> list[tuple[str, str]]:
        """(method, path) of the calls of the operation without faults, without opening the table."""
        return self._undisturbed[0]

    @cached_property
    def done(self) -> MemoryFileIO:
        """The storage after the operation without faults; must not be changed."""
        return self._undisturbed[1]

    @cached_property
    def result(self) -> object:
        """The result of the operation without faults."""
        return self._undisturbed[2]

    def deaths(self) -> Iterator[End]:
        """Yield the ends of the operation when the process dies at any call.

        Reads are left out, except for the first call: a death there leaves what the call before left.
        """
        seen: set[Outcome] = set()
        for number, (method, path) in enumerate(self.calls):
            if number and (method in _READS or not self._is_chosen(number, path)):
                continue
            for moment in Moment:
                if moment is not Moment.MIDST or method in _HALVED:
                    fault = f"died {moment} call {number}, {method} {path}"
                    end = self._end(fault, method, _dying(number, moment))
                    assert end.error is Died, fault
                    yield from _once(end, seen)

    def failures(self, *, is_done: bool, is_lasting: bool) -> Iterator[End]:
        """Yield the ends of the operation when one call fails, or all calls from it on.

        Args:
            is_done: The call has its effect, and its answer is lost. Reads have no effect, and blocks of
                a file are not answered one by one.
            is_lasting: All later calls fail as well.
        """
        seen: set[Outcome] = set()
        for number, (method, path) in enumerate(self.calls):
            if not self._is_chosen(number, path):
                continue
            if is_done and method in _READS | STREAM_CALLS:
                continue
            if (
                method == "read"
                and not self.reads_all
                and self.calls[number - 1][0] != "open_input"
            ):
                continue
            fault = f"call {number} failed, {method} {path}, {is_done=}, {is_lasting=}"
            fail = _failing(number, is_done=is_done, is_lasting=is_lasting)
            yield from _once(self._end(fault, method, fail), seen)

    def _is_chosen(self, number: int, path: str) -> bool:
        # The first call depends on the number of calls, so that many cases together cover every call.
        return (number + len(self.calls)) % self.share == 0 or "/snapshot/" in path

    @cached_property
    def _undisturbed(self) -> tuple[list[tuple[str, str]], MemoryFileIO, object]:
        inner = copied(self.given)
        file_io, table, opening = self._begin(inner)
        result = self.act(table)
        return file_io.calls[opening:], inner, result

    def _begin(self, inner: MemoryFileIO) -> tuple[FaultyFileIO, Table, int]:
        file_io = FaultyFileIO(inner)
        table = self.opened(file_io)
        if self.others is not None:
            file_io.before = _once_before_a_snapshot(self.others, inner)
        return file_io, table, len(file_io.calls)

    def _end(self, fault: str, method: str, prepare: "_Prepare") -> End:
        inner = copied(self.given)
        file_io, table, opening = self._begin(inner)
        prepare(file_io, opening)
        error: type[BaseException] | None = None
        try:
            self.act(table)
        except (Died, LakeError) as raised:
            error = type(raised)
        self.endings[error] = self.endings.get(error, 0) + 1
        outcome = self.outcome_of(inner)
        return End(fault=fault, method=method, file_io=inner, error=error, outcome=outcome)

    def outcome_of(self, file_io: FileIO) -> Outcome:
        """Return the existing files, new ones without the random parts of their names."""
        paths = sorted(paths_below(file_io))
        names = [path if path in self._given_paths else _UUID.sub("", path) for path in paths]
        empty = sum(not file_io.size(path) for path in paths)
        hints = [file_io.read_bytes(path) for path in paths if path.endswith(HINTS)]
        return tuple(names), empty, tuple(hints)

    @cached_property
    def _given_paths(self) -> frozenset[str]:
        return frozenset(paths_below(self.given))


def moments(calls: Sequence[object]) -> range:
    """Return the calls of an operation before which another process is to act: the same share of them."""
    return range(len(calls) % _share(), len(calls), _share())


_Prepare = Callable[[FaultyFileIO, int], None]


def _dying(number: int, moment: Moment) -> _Prepare:
    return lambda file_io, opening: file_io.die_at(opening + number, moment)


def _failing(number: int, *, is_done: bool, is_lasting: bool) -> _Prepare:
    def prepare(file_io: FaultyFileIO, opening: int) -> None:
        before = file_io.before
        file_io.fail_calls(opening + number, is_done=is_done, is_lasting=is_lasting)
        fails = file_io.before

        def both(at: int, method: str, path: str) -> None:
            before(at, method, path)
            fails(at, method, path)

        if not is_done:
            file_io.before = both

    return prepare


def _once_before_a_snapshot(
    act: Callable[[FileIO], object], inner: FileIO
) -> Callable[[int, str, str], None]:
    left = [act]

    def hook(_: int, method: str, path: str) -> None:
        if left and method == "create_exclusive" and "/snapshot/" in path:
            left.pop()(inner)

    return hook


def _once(end: End, seen: set[Outcome]) -> Iterator[End]:
    known = (end.error, end.method == "delete", end.outcome)
    if known not in seen:
        seen.add(known)
        yield end
