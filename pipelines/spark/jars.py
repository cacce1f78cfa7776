"""Pinned jars: the jars of `jars.lock`, downloaded into the folder of `BRAID_JARS`, of the checkout or of the user.

The lock file lists every jar with its SHA-256, in groups called confs that never share a class
path, because they need different versions of the same library:

- `kafka`: a broker, for the demo and the tests;
- `spark`: Spark's Kafka connector;
- `paimon`: the reference implementation of the table format and a Java compiler, for the tests;
- `s3proxy`: a server of the S3 protocol, for the demo and the tests;
- `schema_registry`: a Confluent-compatible schema registry, for the tests. It is large (`ON_DEMAND`);
- `debezium`: a connector for PostgreSQL, for `make cdc` (`ON_DEMAND`);
- `spark_peers`: Delta Lake, Iceberg, and the Kafka connector of the Spark that both support, for
  `make bench-peers` (`ON_DEMAND`).

A complete folder has a stamp file; then only the names and sizes of its jars are checked. Otherwise one
process at a time downloads the jars that are missing or differ, checks every hash in a scratch folder, and moves
them into place: a jar under its final name was complete and verified when it came there.

    python -m braid.pipelines.spark.jars [--quiet] [--dest DIR] [conf ...]
    python -m braid.pipelines.spark.jars --pin CONF org:name:version ...    (prints lines for the lock file)
"""

import argparse
import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from braid.pipelines.spark.java import JarError, java_executable
from braid.pipelines.spark.maven import Coordinate, download, find_repository

__all__ = [
    "JarError",
    "LockedJar",
    "exclusive",
    "jars_folder",
    "java_executable",
    "read_lock",
    "resolve",
]

LOCK_PATH = Path(__file__).with_name("jars.lock")
ON_DEMAND = frozenset({"schema_registry", "debezium", "spark_peers"})
"""Confs that are resolved only where they are named, because few need them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedJar:
    """One line of the lock file."""

    conf: str
    coordinate: Coordinate
    sha256: str
    size_bytes: int

    def __str__(self) -> str:
        return f"{self.conf} {self.coordinate} {self.sha256} {self.size_bytes}"


def resolve(confs: Iterable[str] | None = None, dest: Path | None = None) -> dict[str, list[Path]]:
    """Return the jars of each conf, downloading those that are missing.

    Safe to call from several processes at once: one downloads, and the others wait.

    Args:
        confs: Names of confs in the lock file; by default all but those of `ON_DEMAND`.
        dest: The folder; by default `BRAID_JARS`, else `.jars` in the checkout, else, where the package is
            installed, `braid/jars` in the user's cache (`XDG_CACHE_HOME`, or `~/.cache`).

    Returns:
        Absolute paths by conf, in the order of the lock file: ready for a class path.

    Raises:
        JarError: A conf is unknown, Java is missing, or a jar cannot be downloaded or has another hash.
    """
    folder = (dest or jars_folder()).absolute()
    locked = read_lock()
    usual = [conf for conf in locked if conf not in ON_DEMAND]
    wanted = list(dict.fromkeys(usual if confs is None else confs))
    unknown = [conf for conf in wanted if conf not in locked]
    if unknown:
        expected = f"one of {', '.join(locked)}"
        hint = f"add it to {LOCK_PATH.name}"
        raise JarError(what="conf", found=unknown[0], expected=expected, hint=hint)
    return {conf: _resolve_conf(locked[conf], folder / conf) for conf in wanted}


def read_lock(path: Path | None = None) -> dict[str, list[LockedJar]]:
    """Return the jars of a lock file (by default the package's own) by conf, in file order."""
    confs: dict[str, list[LockedJar]] = {}
    for line in (path or LOCK_PATH).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            conf, coordinate, sha256, size = line.split()
            jar = LockedJar(
                conf=conf,
                coordinate=Coordinate.parse(coordinate),
                sha256=sha256,
                size_bytes=int(size),
            )
            confs.setdefault(conf, []).append(jar)
    return confs


def pin(conf: str, coordinates: Iterable[str]) -> list[LockedJar]:
    """Return lock file lines for jars, which are downloaded now and trusted without a check."""
    wanted = [Coordinate.parse(text) for text in coordinates]
    with tempfile.TemporaryDirectory(prefix="braid-pin-") as folder:
        download(wanted, Path(folder), find_repository())
        return [
            LockedJar(
                conf=conf,
                coordinate=coordinate,
                sha256=_sha256(Path(folder) / coordinate.file_name),
                size_bytes=(Path(folder) / coordinate.file_name).stat().st_size,
            )
            for coordinate in wanted
        ]


def jars_folder() -> Path:
    """Return the folder of the jars: `BRAID_JARS`, else that of the checkout, else one in the user's cache."""
    configured = os.environ.get("BRAID_JARS")
    if configured:
        return Path(configured)
    # In a checkout `braid/pipelines` is a link to the folder beside it.
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".jars"
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "braid" / "jars"


def _resolve_conf(jars: Sequence[LockedJar], folder: Path) -> list[Path]:
    paths = [folder / jar.coordinate.file_name for jar in jars]
    if _is_complete(jars, folder):
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder / ".lock"):
        if not _is_complete(jars, folder):  # else another process has just resolved it
            _fetch(jars, folder)
            _stamp_path(folder).write_text(_stamp(jars))
    return paths


def _is_complete(jars: Sequence[LockedJar], folder: Path) -> bool:
    stamp = _stamp_path(folder)
    if not stamp.exists() or stamp.read_text() != _stamp(jars):
        return False
    return all(_is_whole(jar, folder / jar.coordinate.file_name) for jar in jars)


def _is_whole(jar: LockedJar, path: Path) -> bool:
    return path.exists() and path.stat().st_size == jar.size_bytes


def _fetch(jars: Sequence[LockedJar], folder: Path) -> None:
    absent = [jar for jar in jars if not _is_locked(jar, folder / jar.coordinate.file_name)]
    if not absent:
        return
    repository = find_repository()
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as name:
        scratch = Path(name)
        download([jar.coordinate for jar in absent], scratch, repository)
        for jar in absent:
            path = scratch / jar.coordinate.file_name
            if not _is_locked(jar, path):
                raise JarError(
                    what=f"{jar.coordinate} from {repository.url or 'Maven Central'}",
                    found=f"sha256 {_sha256(path)}",
                    expected=jar.sha256,
                    hint="the repository or ~/.m2/repository serves another file; nothing was kept",
                )
            path.replace(folder / path.name)


def _is_locked(jar: LockedJar, path: Path) -> bool:
    return _is_whole(jar, path) and _sha256(path) == jar.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp_path(folder: Path) -> Path:
    return folder / ".complete"


def _stamp(jars: Sequence[LockedJar]) -> str:
    return hashlib.sha256("\n".join(map(str, jars)).encode()).hexdigest()


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is created if it is missing; wait while another process holds the lock."""
    # The kernel frees the lock when its holder dies, so a killed download blocks no other process.
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str] | None = None) -> None:
    """Resolve the named confs and print how many jars each has."""
    parser = argparse.ArgumentParser(
        prog="braid.pipelines.spark.jars", description="Resolve the pinned jars."
    )
    parser.add_argument("confs", nargs="*", metavar="conf", help="default: all but the large ones")
    parser.add_argument(
        "--dest",
        type=Path,
        help="default: BRAID_JARS, else .jars of the checkout or the user's cache",
    )
    parser.add_argument("--quiet", action="store_true", help="print only errors")
    parser.add_argument("--pin", metavar="CONF", help="print lock lines for org:name:version ...")
    given = parser.parse_args(arguments)
    try:
        if given.pin:
            lines = [str(jar) for jar in pin(given.pin, given.confs)]
        else:
            got = resolve(given.confs or None, given.dest)
            lines = (
                [] if given.quiet else [f"{conf}: {len(jars)} jars" for conf, jars in got.items()]
            )
    except JarError as error:
        sys.exit(f"jars: {error}")
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
