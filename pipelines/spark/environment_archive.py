"""Archive of the packages that executors need beside their Python and Spark: `braid prepare --archive FILE`.

Executors without an image of Braid unpack it, and have it in their import path (`target`). It holds Braid and the packages that
its tasks depend on, as they are installed here: so it fits machines with the same system, processor and minor version of
Python. Packages with functions or token providers for Braid are in it too. Left out are Spark's own package, which executors
have, and tests, headers and typing stubs.

The same packages give the same bytes. The first file of the archive has a digest of what went into it: an archive that is up
to date is not made again.
"""

import gzip
import hashlib
import io
import os
import re
import tarfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final

from braid.lake import InvalidRequest, Problem
from braid.pipelines.spark.executor_probe import PACKAGE, source_files

DISTRIBUTION: Final = "braid-lake"
DIGEST_NAME: Final = "braid-environment"
_EXTRAS: Final = frozenset({"spark"})
_OF_SPARK: Final = frozenset({"pyspark", "py4j"})
_PLUGINS: Final = ("braid.aggregates", "braid.kafka_token_providers")
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA_MARKER: Final = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_LEFT_OUT_FOLDERS: Final = frozenset({"__pycache__", "tests", "include"})
_LEFT_OUT_ENDINGS: Final = frozenset(
    {".pyi", ".h", ".hpp", ".pxd", ".pxi", ".pyx", ".a", ".pyc", ".pth"}
)
# Above it the archive hardly becomes smaller, and takes twice as long to make.
_COMPRESSION: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentArchive:
    """An archive on disk.

    Attributes:
        path: The file.
        size: Its size in bytes.
        digest: Of what went into it.
        packages: Names and versions of the distributions in it, sorted.
        is_new: Whether it was made now.
    """

    path: Path
    size: int
    digest: str
    packages: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A file of the archive: its path there, where it is now, and a hash of its content."""

    name: str
    path: Path
    content: str


def make_environment_archive(
    path: Path, *, packages: Sequence[str] = (), is_code_only: bool = False
) -> EnvironmentArchive:
    """Make the archive, or leave one that is up to date as it is.

    Args:
        path: A gzip-compressed tar file, whose name ends with `.tar.gz`.
        packages: Further distributions that tasks need, by name.
        is_code_only: Leave out what Braid depends on, because executors have it.

    Raises:
        InvalidRequest: The name has another ending, or a distribution is not installed with a list of its files.
        OSError: The file cannot be written.
    """
    if not path.name.endswith(".tar.gz"):
        raise _refusal(path.name, "expected a name that ends with .tar.gz")
    found = _distributions([DISTRIBUTION, *packages], follows=not is_code_only)
    entries = sorted({entry.name: entry for one in found for entry in _entries(one)}.values())
    digest = hashlib.sha256("\n".join(f"{one.name} {one.content}" for one in entries).encode())
    is_new = archive_digest(path) != digest.hexdigest()
    if is_new:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            _write(new, entries, digest=digest.hexdigest())
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    return EnvironmentArchive(
        path=path,
        size=path.stat().st_size,
        digest=digest.hexdigest(),
        packages=tuple(sorted(f"{one.name} {one.version}" for one in found)),
        is_new=is_new,
    )


def archive_digest(path: Path) -> str | None:
    """Return the digest of what went into an archive; None: there is no such archive, or it is not one of Braid's."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            first = archive.next()
            content = None if first is None else archive.extractfile(first)
            if first is None or content is None or first.name != DIGEST_NAME:
                return None
            return content.read().decode().strip()
    except (OSError, tarfile.TarError, EOFError):
        return None


def _distributions(names: Sequence[str], *, follows: bool) -> list[Distribution]:
    """Return distributions and, where `follows`, what they require and is installed."""
    extras = {_normal(DISTRIBUTION): _EXTRAS}
    waiting = deque((name, extras.get(_normal(name), frozenset[str]())) for name in names)
    waiting.extend(_plugins())
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    required = {_normal(name) for name in names}
    while waiting:
        name, wanted = waiting.popleft()
        if (_normal(name), wanted) in seen or _normal(name) in _OF_SPARK:
            continue
        seen.add((_normal(name), wanted))
        try:
            one = distribution(name)
        except PackageNotFoundError:
            # A requirement of another system or version of Python has a marker, and is not installed.
            if _normal(name) in required:
                raise _refusal(name, "the package is not installed") from None
            continue
        found[_normal(name)] = one
        if follows:
            waiting.extend(_requirements(one.requires or (), wanted))
    return list(found.values())


def _plugins() -> Iterator[tuple[str, frozenset[str]]]:
    for group in _PLUGINS:
        for point in entry_points(group=group):
            if point.dist is not None:
                yield point.dist.name, frozenset()


def _requirements(
    texts: Iterable[str], wanted: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names that requirements have and the extras that they ask for.

    >>> list(
    ...     _requirements(
    ...         ["a[x]>=1", "b; extra == 'spark'", "c; extra == 'dev'"], frozenset({"spark"})
    ...     )
    ... )
    [('a', frozenset({'x'})), ('b', frozenset())]
    """
    for text in texts:
        requirement, _, marker = text.partition(";")
        of_extras = set(_EXTRA_MARKER.findall(marker))
        if of_extras and not of_extras & wanted:
            continue
        match = _REQUIREMENT.match(requirement)
        if match is not None:
            extras = frozenset(part.strip() for part in (match[2] or "").split(",") if part.strip())
            yield match[1], extras


def _entries(one: Distribution) -> Iterator[_Entry]:
    if one.files is None:
        raise _refusal(one.name, "the package is installed without a list of its files")
    for file in one.files:
        path = Path(str(one.locate_file(file)))
        if _is_kept(PurePosixPath(file)) and path.is_file():
            content = _hash(path) if file.hash is None else f"{file.hash.mode}={file.hash.value}"
            yield _Entry(file.as_posix(), path, content)
    if _normal(one.name) == _normal(DISTRIBUTION):
        yield from _own_entries()


def _own_entries() -> Iterator[_Entry]:
    """Yield the files of Braid, which in a checkout are not in the list of its distribution."""
    spec = find_spec(PACKAGE)
    assert spec is not None, "this module is part of it"
    assert spec.submodule_search_locations, "it is a package"
    root = Path(next(iter(spec.submodule_search_locations)))
    for name, path in source_files(root):
        yield _Entry(f"{PACKAGE}/{name}", path, _hash(path))
    for name in ("schemas/json", "schemas/examples", "pipelines/spark/jars.lock", "py.typed"):
        place = root / name
        for path in sorted(place.iterdir()) if place.is_dir() else [place]:
            if path.is_file():
                yield _Entry(f"{PACKAGE}/{path.relative_to(root).as_posix()}", path, _hash(path))


def _is_kept(file: PurePosixPath) -> bool:
    """Return whether tasks may need a file of a distribution.

    >>> [
    ...     _is_kept(PurePosixPath(name))
    ...     for name in ("a/b.py", "../bin/a", "a/tests/b.py", "a/b.pyi")
    ... ]
    [True, False, False, False]
    """
    return (
        ".." not in file.parts
        and not _LEFT_OUT_FOLDERS.intersection(file.parts)
        and file.suffix not in _LEFT_OUT_ENDINGS
    )


def _write(path: Path, entries: Sequence[_Entry], *, digest: str) -> None:
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", _COMPRESSION, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        text = f"{digest}\n".encode()
        archive.addfile(_member(DIGEST_NAME, len(text)), io.BytesIO(text))
        for entry in entries:
            with entry.path.open("rb") as content:
                size = os.fstat(content.fileno()).st_size
                archive.addfile(_member(entry.name, size), content)


def _member(name: str, size: int) -> tarfile.TarInfo:
    """Return a file of the archive: by nobody, at no time, readable for all."""
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o755 if ".so" in name else 0o644
    return member


def _hash(path: Path) -> str:
    return f"sha256={hashlib.sha256(path.read_bytes()).hexdigest()}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _refusal(value: str, reason: str) -> InvalidRequest:
    problem = Problem(field="archive", value=value, message=reason)
    message = "the archive of the executors' packages cannot be made"
    return InvalidRequest(message, problems=[problem])
