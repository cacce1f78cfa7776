"""Processes of a run: the processor time and memory of each kind of process, sampled from `/proc`; and the sizes of folders.

A sample has the named processes and all their descendants, so short-lived Python workers and compactions count as
well. Samples are half a second apart; what a process used after its last sample is not counted.
"""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

PERIOD_S: Final = 0.5
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSample:
    """One process at one time.

    Attributes:
        identity: Process id and start time: an id may come again.
        kind: Its part in the run (`kind_of`).
        cpu_s: Processor time since its start, without its children.
        peak_bytes: The most memory that it held so far.
        share_bytes: The memory that it holds; pages that processes share are divided among them.
    """

    identity: tuple[int, int]
    kind: str
    cpu_s: float
    peak_bytes: int
    share_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the processes of one kind used.

    Attributes:
        processes: How many there were, at any time.
        cpu_s: Their processor time.
        peak_bytes: The peak of the largest of them.
        sum_bytes: The peak of all of them together, shared pages counted once.
    """

    processes: int
    cpu_s: float
    peak_bytes: int
    sum_bytes: int


def kind_of(root: str, command: Sequence[str], *, is_root: bool) -> str:
    """Return the part that a process has in the run.

    Args:
        root: Name of the started program that it belongs to.
        command: Its command line.
        is_root: Whether it is that program itself.

    Example:
        >>> kind_of("driver", ["/usr/bin/java", "-cp", "…"], is_root=False)
        'driver: JVM'
        >>> kind_of("broker", ["/usr/bin/java", "-cp", "…"], is_root=True)
        'broker'
    """
    if is_root:
        return root
    program = Path(command[0]).name if command else ""
    if program == "java":
        return f"{root}: JVM"
    if any("pyspark" in word for word in command[1:]):
        return f"{root}: Python workers"
    if any("multiprocessing" in word for word in command[1:]):
        return f"{root}: compaction"
    return f"{root}: other"


def roots_of(parents: Mapping[int, int], roots: Mapping[int, str]) -> dict[int, str]:
    """Return the processes below some processes, and these themselves, with the name of the nearest one.

    Args:
        parents: Parent by process id.
        roots: Name by process id.

    Example:
        >>> roots_of({1: 0, 2: 1, 3: 2, 4: 1}, {2: "runner"})
        {2: 'runner', 3: 'runner'}
    """
    found: dict[int, str] = {}
    for process in parents:
        ancestor, seen = process, set[int]()
        while ancestor not in roots and ancestor in parents and ancestor not in seen:
            seen.add(ancestor)
            ancestor = parents[ancestor]
        if ancestor in roots:
            found[process] = roots[ancestor]
    return found


class UsageSum:
    """Usage by kind, from samples."""

    def __init__(self) -> None:
        self._newest: dict[tuple[int, int], ProcessSample] = {}
        self._sums: dict[str, int] = {}
        self._total = 0

    def add(self, samples: Iterable[ProcessSample]) -> None:
        """Add the samples of one time."""
        now: dict[str, int] = {}
        for sample in samples:
            before = self._newest.get(sample.identity, sample)
            # A process that is forked has the command of its parent until it runs a program.
            peak = max(before.peak_bytes, sample.peak_bytes)
            self._newest[sample.identity] = replace(sample, peak_bytes=peak)
            now[sample.kind] = now.get(sample.kind, 0) + sample.share_bytes
        for kind, size in now.items():
            self._sums[kind] = max(self._sums.get(kind, 0), size)
        self._total = max(self._total, sum(now.values()))

    @property
    def total_bytes(self) -> int:
        """The peak of all processes together."""
        return self._total

    def usage(self) -> dict[str, Usage]:
        """Return the usage so far, by kind in alphabetical order."""
        kinds: dict[str, list[ProcessSample]] = {}
        for sample in self._newest.values():
            kinds.setdefault(sample.kind, []).append(sample)
        return {
            kind: Usage(
                processes=len(those),
                cpu_s=sum(sample.cpu_s for sample in those),
                peak_bytes=max(sample.peak_bytes for sample in those),
                sum_bytes=self._sums.get(kind, 0),
            )
            for kind, those in sorted(kinds.items())
        }


class ProcessWatch:
    """Samples processes from a thread while the context is open."""

    def __init__(self) -> None:
        self._roots: dict[int, str] = {}
        self._folders: list[tuple[Path, str]] = []
        self._folder_bytes = 0
        self._sum = UsageSum()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="process-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def watch(self, name: str, process_id: int) -> None:
        """Watch a process and those below it from now on; the nearest one watched names a process."""
        self._roots = {**self._roots, process_id: name}

    def watch_folders(self, root: Path, pattern: str) -> None:
        """Watch the size of the folders below another one that fit a pattern, from now on."""
        self._folders = [*self._folders, (root, pattern)]

    @property
    def folder_bytes(self) -> int:
        """The peak of the folders' sizes together."""
        return self._folder_bytes

    @property
    def total_bytes(self) -> int:
        """The peak of all processes together, shared pages counted once."""
        return self._sum.total_bytes

    def usage(self) -> dict[str, Usage]:
        """Take a sample and return the usage so far, by kind."""
        self._sample()
        return self._sum.usage()

    def _run(self) -> None:
        while not self._ended.wait(PERIOD_S):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            self._sum.add(_samples(self._roots))
            size = sum(
                folder_bytes(folder)
                for root, pattern in self._folders
                for folder in root.glob(pattern)
            )
            self._folder_bytes = max(self._folder_bytes, size)


def folder_bytes(folder: Path) -> int:
    """Return the sizes of the files below a folder, which may change meanwhile."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(path, name).lstat().st_size
            except OSError:
                continue
    return total


def _samples(roots: Mapping[int, str]) -> list[ProcessSample]:
    stats = dict(_stats())
    parents = {process: int(fields[1]) for process, fields in stats.items()}
    found = []
    for process, root in roots_of(parents, roots).items():
        try:
            command = _read(process, "cmdline").rstrip("\0").split("\0")
            status, rollup = _read(process, "status"), _read(process, "smaps_rollup")
        except OSError:  # it has just ended
            continue
        fields = stats[process]
        found.append(
            ProcessSample(
                identity=(process, int(fields[19])),
                kind=kind_of(root, command, is_root=process in roots),
                cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS,
                peak_bytes=_kilobytes(status, "VmHWM:") * 1024,
                share_bytes=_kilobytes(rollup, "Pss:") * 1024,
            )
        )
    return found


def _stats() -> Iterable[tuple[int, list[str]]]:
    """Yield the fields of each process after its name, which may have spaces; the first one is its state."""
    for path in _PROC.iterdir():
        if path.name.isdigit():
            try:
                text = _read(int(path.name), "stat")
            except OSError:
                continue
            yield int(path.name), text.rpartition(")")[2].split()


def _read(process: int, name: str) -> str:
    return (_PROC / str(process) / name).read_text(encoding="utf-8", errors="replace")


def _kilobytes(text: str, key: str) -> int:
    for line in text.splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    return 0
