"""One operation, broken off at each of its storage calls.

The operation is done once undisturbed, which tells its calls. Then it is done again for each of them,
on a copy of the same storage: the process dies before, in the midst of, or after the call; or the call
fails, undone or with its answer lost, once or for good, and the process goes on.

Different calls often leave the same files behind. Such an end is handed out once, because what comes
of it has been looked at already.

`make test` breaks an operation off at a share of its calls, `make soak` at each of them (`SWEEP_SHARE=1`).
Tests that sweep have the marker `sweep`.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from lake import FileIO, LakeError, MemoryFileIO, Table
from tests.support.faulty_file_io import STREAM_CALLS, Died, FaultyFileIO, Moment
from tests.support.table_files import copied, paths_below

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HINTS = ("/LATEST", "/EARLIEST")
"""Ends of the paths of files that are replaced."""
_HALVED = frozenset({"write_new", "create_exclusive", "overwrite", "write"})
_LOOKS = frozenset(
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
"""Calls that change nothing here; what syncing is for is swept by `power_sweep`."""


SHARE = 6
"""One call in so many is broken off, unless the environment's `SWEEP_SHARE` says otherwise."""

Outcome: TypeAlias = tuple[object, ...]
"""What two ends of an operation have in common after which everything else goes the same way."""


def _share() -> int:
    return int(os.environ.get("SWEEP_SHARE", SHARE))


@dataclass(frozen=True, kw_only=True)
class End:
    """What a fault left.

    Attributes:
        place: Which fault it was, for people.
        method: Of the call.
        file_io: The storage, without the fault.
        error: How the operation ended: `Died`, an error of the engine, or None for well.
        outcome: The files that are there.
    """

    place: str
    method: str
    file_io: MemoryFileIO
    error: type[BaseException] | None
    outcome: Outcome


@dataclass(kw_only=True)
class Sweep:
    """An operation on a table, and everything that can break it off.

    Attributes:
        given: Storage before the operation; stays as it is.
        opened: Opens the table there, in the same way each time.
        act: The operation.
        reads_all: Whether every reading of an open file is made fail, not only the first.
        share: One call in so many is broken off, besides each that has to do with a snapshot's file: there
            it is decided whether the operation was done at all.
        others: What somebody else does to this storage just before a snapshot is first created.
        endings: How often the operation ended how, over all faults so far.
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
        """(method, path) of the calls of the undisturbed operation, opening the table aside."""
        return self._undisturbed[0]

    @cached_property
    def done(self) -> MemoryFileIO:
        """The storage after the undisturbed operation; not to be changed."""
        return self._undisturbed[1]

    @cached_property
    def result(self) -> object:
        """What the undisturbed operation returned."""
        return self._undisturbed[2]

    def deaths(self) -> Iterator[End]:
        """Yield what is left when the process dies at any call.

        Calls that only look change nothing, so that what a death there leaves is what the call
        before them left: they are left out, but for the first.
        """
        seen: set[Outcome] = set()
        for number, (method, path) in enumerate(self.calls):
            if number and (method in _LOOKS or not self._is_chosen(number, path)):
                continue
            for moment in Moment:
                if moment is not Moment.MIDST or method in _HALVED:
                    place = f"died {moment} call {number}, {method} {path}"
                    end = self._end(place, method, _dying(number, moment))
                    assert end.error is Died, place
                    yield from _once(end, seen)

    def failures(self, *, is_done: bool, is_lasting: bool) -> Iterator[End]:
        """Yield what is left when a call fails, or all from it on do.

        Args:
            is_done: The call has its effect, and its answer is lost. Calls that only look have
                none, and blocks of a file are not answered one by one.
            is_lasting: All later calls fail as well.
        """
        seen: set[Outcome] = set()
        for number, (method, path) in enumerate(self.calls):
            if not self._is_chosen(number, path):
                continue
            if is_done and method in _LOOKS | STREAM_CALLS:
                continue
            if (
                method == "read"
                and not self.reads_all
                and self.calls[number - 1][0] != "open_input"
            ):
                continue
            place = f"call {number} failed, {method} {path}, {is_done=}, {is_lasting=}"
            fail = _failing(number, is_done=is_done, is_lasting=is_lasting)
            yield from _once(self._end(place, method, fail), seen)

    def _is_chosen(self, number: int, path: str) -> bool:
        # From another first call on for operations of another length, so that many cases see every call.
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

    def _end(self, place: str, method: str, prepare: "_Prepare") -> End:
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
        return End(place=place, method=method, file_io=inner, error=error, outcome=outcome)

    def outcome_of(self, file_io: FileIO) -> Outcome:
        """Return which files are there; new ones but for what is drawn at random."""
        paths = sorted(paths_below(file_io))
        names = [path if path in self._given_paths else _UUID.sub("", path) for path in paths]
        empty = sum(not file_io.size(path) for path in paths)
        hints = [file_io.read_bytes(path) for path in paths if path.endswith(HINTS)]
        return tuple(names), empty, tuple(hints)

    @cached_property
    def _given_paths(self) -> frozenset[str]:
        return frozenset(paths_below(self.given))


def moments(calls: Sequence[object]) -> range:
    """Return the calls of an operation before which somebody else is to act: the same share of them."""
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
