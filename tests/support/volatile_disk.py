"""A disk in memory that forgets, when the power fails, what was not synced.

A model of what POSIX promises and no more: what was written to a file is durable after `sync` of the
file, names that were given, replaced and removed in a directory after `sync_directory` of it, and a
rename is whole or not at all. Of everything else any part may be there after a power failure: a name
without its content, half of a content, a removal without the one before it.

The disk works, and writes down each effect. `failures` then tells, for every point between two
effects, what may be left, so that an operation runs once however many points there are.
"""

import io
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

import pyarrow as pa
from typing_extensions import Buffer

from braid.lake.files.storage.disk import DiskEntry

_ROOT: Final = 0
_BLOCK_BYTES: Final = 4096
"""Of a file that is streamed: so much is written at a time."""
_START_MS: Final = 1_700_000_000_000


@dataclass(frozen=True, kw_only=True)
class Image:
    """What lies on a disk that is switched off.

    Attributes:
        files: Content by number of the file.
        directories: Numbers of files and directories by name, by number of the directory.
    """

    files: Mapping[int, bytes]
    directories: Mapping[int, Mapping[str, int]]

    def by_path(self, directory: int = _ROOT, path: str = "") -> dict[str, bytes | None]:
        """Return the content of each file that can be reached, None for directories."""
        found: dict[str, bytes | None] = {}
        for name, number in self.directories[directory].items():
            below = f"{path}/{name}"
            if number in self.directories:
                found[below] = None
                found |= self.by_path(number, below)
            else:
                found[below] = self.files[number]
        return found


EMPTY: Final = Image(files={}, directories={_ROOT: {}})


class Survival(StrEnum):
    """Which of the effects that were not synced are there after a power failure."""

    NOTHING = "nothing"
    NAMES = "names without content"
    EVERYTHING = "everything"
    SOME = "some, drawn at random"


@dataclass(frozen=True)
class _Appended:
    file: int
    data: bytes


@dataclass(frozen=True)
class _Synced:
    file: int


@dataclass(frozen=True)
class _Named:
    """Names given (a number) and removed (None) at once."""

    directory: int
    names: Mapping[str, int | None]
    makes_directory: bool = False


@dataclass(frozen=True)
class _DirectorySynced:
    directory: int


_Effect = _Appended | _Synced | _Named | _DirectorySynced


class ForgetsSync(Protocol):
    """Says of a sync whether it is left out, as if nobody had thought of it."""

    def __call__(self) -> bool:
        """Return whether the sync that is under way is left out."""
        ...


class VolatileDisk:
    """A `Disk` in memory; for one thread at a time."""

    def __init__(self, given: Image = EMPTY, *, forgets: ForgetsSync = lambda: False) -> None:
        """Switch a disk on.

        Args:
            given: What is on it, all of it durable.
            forgets: Asked at each sync whether it is left out.
        """
        self._given = given
        self._forgets = forgets
        self._files = {number: bytearray(data) for number, data in given.files.items()}
        self._directories = {n: dict(names) for n, names in given.directories.items()}
        self._modified: dict[int, int] = {}
        self._opened: dict[int, int] = {}
        self._numbers = max((_ROOT, *given.files, *given.directories))
        self._effects: list[_Effect] = []

    @property
    def count(self) -> int:
        """How many effects there have been."""
        return len(self._effects)

    def image(self) -> Image:
        """Return all that is there, as after a clean end."""
        return Image(
            files={number: bytes(data) for number, data in self._files.items()},
            directories={n: dict(names) for n, names in self._directories.items()},
        )

    def failures(
        self, survivals: Mapping[int, tuple[Survival, ...]] | None, *, seed: int
    ) -> Iterator[tuple[int, Survival, Image]]:
        """Yield what may be left after a power failure.

        Args:
            survivals: By point, that is after how many effects the power fails, what to draw; None:
                each at every point.
            seed: Of what is drawn.

        Yields:
            The point, what was drawn, and what is on the disk then.
        """
        chance = random.Random(seed)
        durable = _Durable(self._given)
        for point in range(self.count + 1):
            if point:
                durable.take(self._effects[point - 1])
            wanted = tuple(Survival) if survivals is None else survivals.get(point, ())
            for survival in wanted:
                yield point, survival, durable.left(survival, chance)

    def read(self, path: str, offset: int = 0, length: int = -1) -> bytes:
        data = self._file(path)
        return bytes(data[offset:] if length < 0 else data[offset : offset + length])

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(bytes(self._file(path)))

    def create(self, path: str) -> int:
        directory, name = self._place(path)
        if name in self._directories[directory]:
            raise FileExistsError(path)
        number = self._next()
        self._files[number] = bytearray()
        self._name(directory, {name: number})
        self._opened[number] = number
        return number

    def write(self, descriptor: int, data: memoryview) -> int:
        self._append(self._opened[descriptor], bytes(data[:_BLOCK_BYTES]))
        return min(len(data), _BLOCK_BYTES)

    def open_output(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(_Output(self, self._number(path)), mode="w")

    def sync(self, descriptor: int) -> None:
        if not self._forgets():
            self._effects.append(_Synced(self._opened[descriptor]))

    def close(self, descriptor: int) -> None:
        del self._opened[descriptor]

    def link(self, source: str, target: str) -> None:
        directory, name = self._place(target)
        if name in self._directories[directory]:
            raise FileExistsError(target)
        self._name(directory, {name: self._number(source)})

    def replace(self, source: str, target: str) -> None:
        directory, name = self._place(target)
        before, old = self._place(source)
        assert before == directory, f"{source} and {target} lie in two directories"
        number = self._number(source)
        if self._directories[directory].get(name) in self._directories:
            raise IsADirectoryError(target)
        self._name(directory, {old: None, name: number})

    def unlink(self, path: str) -> None:
        number = self._number(path)
        if number in self._directories:
            raise IsADirectoryError(path)
        directory, name = self._place(path)
        self._name(directory, {name: None})

    def make_directory(self, path: str) -> None:
        directory, name = self._place(path)
        if name in self._directories[directory]:
            raise FileExistsError(path)
        number = self._next()
        self._directories[number] = {}
        self._name(directory, {name: number}, makes_directory=True)

    def sync_directory(self, path: str) -> None:
        number = self._directory(path)
        if not self._forgets():
            self._effects.append(_DirectorySynced(number))

    def entry(self, path: str) -> DiskEntry:
        return self._entry(path.rstrip("/").rpartition("/")[2], self._number(path))

    def entries(self, path: str) -> list[DiskEntry]:
        names = self._directories[self._directory(path)]
        return [self._entry(name, number) for name, number in names.items()]

    def remove_tree(self, path: str) -> None:
        for entry in self.entries(path):
            below = f"{path.rstrip('/')}/{entry.name}"
            if entry.is_directory:
                self.remove_tree(below)
            else:
                self.unlink(below)
        directory, name = self._place(path)
        self._name(directory, {name: None})

    def _entry(self, name: str, number: int) -> DiskEntry:
        is_directory = number in self._directories
        return DiskEntry(
            name=name,
            size=0 if is_directory else len(self._files[number]),
            modified_ms=self._modified.get(number, _START_MS),
            is_directory=is_directory,
            number=number,
        )

    def _append(self, number: int, data: bytes) -> None:
        self._files[number] += data
        self._modified[number] = _START_MS + self.count
        self._effects.append(_Appended(number, data))

    def _name(
        self, directory: int, names: Mapping[str, int | None], *, makes_directory: bool = False
    ) -> None:
        _apply(self._directories[directory], names)
        self._effects.append(_Named(directory, names, makes_directory))

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers

    def _file(self, path: str) -> bytearray:
        number = self._number(path)
        if number in self._directories:
            raise IsADirectoryError(path)
        return self._files[number]

    def _directory(self, path: str) -> int:
        number = self._number(path)
        if number not in self._directories:
            raise NotADirectoryError(path)
        return number

    def _place(self, path: str) -> tuple[int, str]:
        parent, _, name = path.rstrip("/").rpartition("/")
        return self._directory(parent), name

    def _number(self, path: str) -> int:
        number = _ROOT
        for name in path.split("/"):
            if not name:
                continue
            if number not in self._directories:
                raise NotADirectoryError(path)
            if name not in self._directories[number]:
                raise FileNotFoundError(path)
            number = self._directories[number][name]
        return number


@dataclass
class _Durable:
    """What is durable after some effects, and what else there has been."""

    given: Image
    names: dict[int, list[Mapping[str, int | None]]] = field(default_factory=dict)
    data: dict[int, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = dict(self.given.files)
        self.directories = {n: dict(names) for n, names in self.given.directories.items()}

    def take(self, effect: _Effect) -> None:
        match effect:
            case _Appended():
                self.data[effect.file] = self.data.get(effect.file, b"") + effect.data
            case _Synced():
                data = self.data.pop(effect.file, b"")
                self.files[effect.file] = self.files.get(effect.file, b"") + data
            case _Named():
                self.names.setdefault(effect.directory, []).append(effect.names)
                if effect.makes_directory:
                    (made,) = effect.names.values()
                    assert made is not None
                    self.directories[made] = {}
            case _DirectorySynced():
                for names in self.names.pop(effect.directory, ()):
                    _apply(self.directories[effect.directory], names)

    def left(self, survival: Survival, chance: random.Random) -> Image:
        directories = {number: dict(names) for number, names in self.directories.items()}
        for number, pending in self.names.items():
            for names in pending:
                if _is_kept(survival, chance):
                    _apply(directories[number], names)
        files = dict(self.files)
        for names in directories.values():
            for number in names.values():
                if number not in directories:
                    files.setdefault(number, b"")  # created, and nothing of its content is durable
        for number, data in self.data.items():
            files[number] = files.get(number, b"") + _kept_data(data, survival, chance)
        return Image(files=files, directories=directories)


def _is_kept(survival: Survival, chance: random.Random) -> bool:
    if survival is Survival.SOME:
        return chance.random() < 0.5
    return survival is not Survival.NOTHING


def _kept_data(data: bytes, survival: Survival, chance: random.Random) -> bytes:
    match survival:
        case Survival.EVERYTHING:
            return data
        case Survival.SOME:
            torn = data[: chance.randrange(len(data) + 1)]
            return chance.choice([data, torn, bytes(len(data)), b""])
        case _:
            return b""


def _apply(directory: dict[str, int], names: Mapping[str, int | None]) -> None:
    for name, number in names.items():
        if number is None:
            directory.pop(name, None)
        else:
            directory[name] = number


class _Output(io.RawIOBase):
    """A file that is streamed; what is gathered into a block is written at once."""

    def __init__(self, disk: VolatileDisk, number: int) -> None:
        self._disk = disk
        self._number = number
        self._block = bytearray()
        self._count = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._count

    def write(self, data: Buffer, /) -> int:
        size = memoryview(data).nbytes
        self._block += data
        self._count += size
        if len(self._block) >= _BLOCK_BYTES:
            self._write_block()
        return size

    def close(self) -> None:
        if not self.closed:
            self._write_block()
        super().close()

    def _write_block(self) -> None:
        if self._block:
            self._disk._append(self._number, bytes(self._block))
            self._block.clear()
