"""Checks of command-line arguments before anything is started; one line says what is wrong."""

import errno
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import typer

from formats.clusters_file import load_clusters
from formats.kafka_clusters import KafkaClusters, is_server_list
from lake import (
    InvalidRequest,
    LakeError,
    ReadAt,
    StorageUnavailable,
    file_io_for,
    parse_duration,
    path_for,
)
from registry.rules.names import is_identifier, is_runner_name

EXIT_USAGE: Final = 2
EXIT_TRY_AGAIN: Final = 75  # EX_TEMPFAIL

# Exit status by what the caller will do; the first class that fits.
_EXITS: Final[Sequence[tuple[type[Exception], int]]] = (
    (InvalidRequest, EXIT_USAGE),  # mends the command
    (StorageUnavailable, EXIT_TRY_AGAIN),
    (LakeError, 1),
    (OSError, 1),
)
# What the system says where a path cannot become a folder, whoever asks and however often.
_NO_FOLDER: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EINVAL})
_MEMORY = re.compile(r"[1-9][0-9]*[kmgt]", re.IGNORECASE)


def warehouse_path(text: str) -> str:
    """Return the absolute path or the address of a warehouse.

    A relative path starts at the working directory.
    """
    if not text.strip() or "\0" in text:
        refuse("--warehouse", text, "expected the path of a folder, or s3://bucket/folder")
    has_scheme = "://" in text or text.startswith("file:")
    with one_line_errors():
        path = path_for(text if has_scheme else str(Path(text).absolute()))
        # What the environment says of an object store and cannot work is told before anything starts.
        file_io_for(path)
        return path


def existing_warehouse(text: str) -> str:
    """Return the path or address of a warehouse that is there; end the process when none is."""
    path = warehouse_path(text)
    with one_line_errors():
        if not file_io_for(path).has_directory(path):
            refuse("--warehouse", text, "there is no such folder")
    return path


def make_warehouse(path: str) -> None:
    """See to it that a warehouse can be worked in: created where it is missing, and tried.

    What never passes ends the process with one line: a path that no folder can have. What may pass
    while the process waits, such as a read-only mount, is told in one line. On an object store there
    is nothing to create, buckets are not ours to make, and `/ready` tries it.
    """
    if "://" in path:
        return
    try:
        Path(path).mkdir(parents=True)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            refuse("--warehouse", path, f"this folder cannot be made: {error.strerror}")
    else:
        typer.echo(f"created the warehouse {path}, which was not there", err=True)
    with one_line_errors():
        try:
            file_io_for(path).probe_exclusive_create(path)
        except StorageUnavailable as error:
            reason = getattr(error.__cause__, "strerror", None) or error
            typer.echo(
                f"warning: the warehouse {path} cannot be written: {reason}; whatever writes waits or "
                "fails until it can: check mount, owner and permissions",
                err=True,
            )


def known_clusters(path: Path | None, *, kafka: str | None = None) -> KafkaClusters:
    """Return the Kafka clusters of a file and of `--kafka`; end the process when they are none."""
    if kafka is not None and not is_server_list(kafka):
        refuse("--kafka", kafka, "expected host:port[,host:port]")
    with one_line_errors():
        clusters = KafkaClusters() if path is None else load_clusters(path)
        return clusters if kafka is None else clusters.with_default(kafka)


def machine_name() -> str:
    """Return the machine's name as a runner's: the same at each start, so that its report is replaced."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname()).lstrip(".-")
    return name if is_runner_name(name) else "runner"


def check_runner(*, name: str, streams: Sequence[str], memory: str) -> None:
    """End the process with one line when a runner cannot be started so."""
    if not is_runner_name(name):
        expected = "expected letters, digits, `-`, `_` and `.`, not `.` first"
        refuse("--name", name, expected)
    for stream in streams:
        table, slash, rest = stream.partition("/")
        if not is_identifier(table) or (
            slash and not is_identifier(f"{table.split('.')[0]}.{rest}")
        ):
            refuse("--stream", stream, "expected db.table or db.table/stream")
    if not _MEMORY.fullmatch(memory):
        refuse("--memory", memory, "expected a number and one of k, m, g, t, such as 2g")


def check_table(identifier: str) -> None:
    """End the process with one line when this cannot name a table."""
    if not is_identifier(identifier):
        refuse("TABLE", identifier, "expected database.table")


def duration_ms(option: str, text: str) -> int:
    """Return the milliseconds of a duration such as `1 d`; end the process when it is none."""
    found = parse_duration(text)
    if found is None:
        refuse(option, text, "expected a duration such as `1 d`, `6 h` or `30 min`")
    return found


def read_at(*, snapshot: int | None, tag: str | None, timestamp: str | None) -> ReadAt:
    """Return the state that options name; end the process when they name several or none."""
    with one_line_errors():
        return ReadAt(snapshot_id=snapshot, tag=tag, timestamp=timestamp)


def bound(
    option: str, *, snapshot: int | None, tag: str | None, timestamp: str | None
) -> int | ReadAt | None:
    """Return a bound of a range of changes, None where none is given; 0 is before the first.

    Args:
        option: That takes snapshots; those of the others begin with it.
        snapshot: Its value.
        tag: That of `…-tag`.
        timestamp: That of `…-timestamp`.
    """
    if tag is None and timestamp is None:
        return snapshot
    if snapshot is not None:
        refuse(option, snapshot, f"not together with {option}-tag or {option}-timestamp")
    return read_at(snapshot=None, tag=tag, timestamp=timestamp)


def refuse(option: str, value: object, expected: str) -> NoReturn:
    """End the process with one line that says what is wrong with an argument."""
    _end(f"{option} {value!r}: {expected}", EXIT_USAGE)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what goes wrong on purpose into one line and an exit status."""
    try:
        yield
    except (LakeError, OSError) as error:
        status = next(status for kind, status in _EXITS if isinstance(error, kind))
        _end("; ".join(line for line in str(error).splitlines() if line), status)


def _end(message: str, status: int) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(status)
