"""Checks of arguments and of the warehouse before a command starts, and the exit of a command that fails.

Most functions parse the text of an argument, such as a path, a duration or a table state, and exit with a line on
stderr if it is invalid. `one_line_errors` converts errors of the engine, the registry and the operating system to
one line and an exit status of `exits`. Other exceptions are defects and keep their traceback.
"""

import errno
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import typer
from pydantic import ValidationError

from braid.cli.exits import COMMAND_ERRORS, EXIT_USAGE, exit_of_error
from braid.formats.clusters.clusters_file import load_clusters
from braid.formats.clusters.kafka_clusters import KafkaClusters, is_server_list
from braid.lake import (
    ReadAt,
    StorageUnavailable,
    file_io_for,
    parse_duration,
    path_for,
)
from braid.registry.names import is_identifier, is_runner_name
from braid.schemas import PlacementSpec

# Errors of mkdir that a retry cannot fix: the path itself cannot be a folder.
_NO_FOLDER: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EINVAL})
_MEMORY = re.compile(r"[1-9][0-9]*[kmgt]", re.IGNORECASE)


def warehouse_path(text: str) -> str:
    """Return the absolute path or the address of a warehouse.

    A relative path is resolved against the working directory.
    """
    if not text.strip() or "\0" in text:
        refuse("--warehouse", text, "expected the path of a folder, or s3://bucket/folder")
    has_scheme = "://" in text or text.startswith("file:")
    with one_line_errors():
        path = path_for(text if has_scheme else str(Path(text).absolute()))
        # Opened for its checks alone: wrong settings of an object store are reported at the start.
        file_io_for(path)
        return path


def existing_warehouse(text: str) -> str:
    """Return the path or address of an existing warehouse; exit with one line when it is missing."""
    path = warehouse_path(text)
    with one_line_errors():
        if not file_io_for(path).has_directory(path):
            refuse("--warehouse", text, "no such folder")
    return path


def ensure_warehouse(path: str) -> None:
    """Create the warehouse's folder if it is missing, and check that files can be created in it.

    A path that can never be a folder ends the process with one line. An error that may pass while
    the process runs, such as a read-only mount, is printed as a warning. Nothing is done for object
    stores: buckets are never created by Braid, and `/ready` checks them.
    """
    if "://" in path:
        return
    try:
        Path(path).mkdir(parents=True)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            refuse("--warehouse", path, f"cannot create this folder: {error.strerror}")
    else:
        typer.echo(f"created the warehouse {path}", err=True)
    with one_line_errors():
        try:
            file_io_for(path).probe_exclusive_create(path)
        except StorageUnavailable as error:
            reason = getattr(error.__cause__, "strerror", None) or error
            typer.echo(
                f"warning: cannot write to the warehouse {path}: {reason}; writes wait or fail until "
                "this is fixed: check mount, owner and permissions",
                err=True,
            )


def known_clusters(path: Path | None, *, kafka: str | None = None) -> KafkaClusters:
    """Return the Kafka clusters of a file and of `--kafka`; exit with one line when invalid."""
    if kafka is not None and not is_server_list(kafka):
        refuse("--kafka", kafka, "expected host:port[,host:port]")
    with one_line_errors():
        clusters = KafkaClusters() if path is None else load_clusters(path)
        return clusters if kafka is None else clusters.with_default(kafka)


def machine_name() -> str:
    """Return the machine's name as the name of a runner.

    It is the same at each start, so that a restarted runner replaces its own report.
    """
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname()).lstrip(".-")
    return name if is_runner_name(name) else "runner"


def check_runner(*, name: str, streams: Sequence[str], memory: str) -> None:
    """Exit with one line when an argument of a runner is invalid."""
    if not is_runner_name(name):
        expected = "expected letters, digits, `-`, `_` and `.`, without a `.` at the beginning"
        refuse("--name", name, expected)
    for stream in streams:
        table, slash, rest = stream.partition("/")
        if not is_identifier(table) or (
            slash and not is_identifier(f"{table.split('.')[0]}.{rest}")
        ):
            refuse("--stream", stream, "expected db.table or db.table/stream")
    if not _MEMORY.fullmatch(memory):
        refuse("--memory", memory, "expected a number and one of k, m, g, t, such as 2g")


def runner_labels(texts: Sequence[str]) -> dict[str, str]:
    """Return the labels of a runner; exit with one line when one is invalid."""
    labels: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name in labels:
            refuse("--label", text, "expected name=value, each name once, such as zone=eu")
        labels[name] = value
    try:
        return dict(PlacementSpec(labels=labels).labels)
    except ValidationError:
        expected = (
            "expected names of letters, digits and `._/-`, and values of at most 128 characters"
        )
        refuse("--label", " ".join(texts), expected)


def check_table(identifier: str) -> None:
    """Exit with one line when the text is not a table's name."""
    if not is_identifier(identifier):
        refuse("TABLE", identifier, "expected database.table")


def check_stream(identifier: str, stream: str) -> None:
    """Exit with one line when the texts are not the names of a table and of a stream."""
    check_table(identifier)
    if not is_identifier(f"{identifier.split('.', maxsplit=1)[0]}.{stream}"):
        refuse("STREAM", stream, "expected a letter, then letters, digits and `_`")


def duration_ms(option: str, text: str) -> int:
    """Return the milliseconds of a duration such as `1 d`; exit with one line for other text.

    A number alone, but 0, is refused: as milliseconds, which it is in table options, `--older-than 2` would delete
    the files of running writers, and `--expires 90` would make a token that has expired.
    """
    duration = parse_duration(text)
    if duration is None or (duration and text.strip().isdecimal()):
        refuse(option, text, "expected a duration such as `1 d`, `6 h` or `30 min`")
    return duration


def read_at(*, snapshot: int | None, tag: str | None, timestamp: str | None) -> ReadAt:
    """Return the table state that the options name; exit with one line when they are invalid."""
    with one_line_errors():
        return ReadAt(snapshot_id=snapshot, tag=tag, timestamp=timestamp)


def bound(
    option: str, *, snapshot: int | None, tag: str | None, timestamp: str | None
) -> int | ReadAt | None:
    """Return a bound of a range of changes; None without an option, 0 for before the first snapshot.

    Args:
        option: The option of the snapshot, such as `--after`; it is the prefix of the other two.
        snapshot: The value of `option`.
        tag: The value of `…-tag`.
        timestamp: The value of `…-timestamp`.
    """
    if tag is None and timestamp is None:
        return snapshot
    if snapshot is not None:
        refuse(
            option, snapshot, f"cannot be given together with {option}-tag or {option}-timestamp"
        )
    return read_at(snapshot=None, tag=tag, timestamp=timestamp)


def refuse(option: str, value: object, expected: str) -> NoReturn:
    """Exit with one line that names the argument, its value and what was expected."""
    end(f"{option} {value!r}: {expected}", EXIT_USAGE)


def refuse_without_master(
    *,
    conf: Sequence[str] | None,
    python: str | None,
    archive: Path | None,
    executor_env: Sequence[str] | None,
    shared_warehouse: bool,
    workers: int | None = None,
) -> None:
    """Exit with one line when a command that uses no cluster has an option for one; the arguments are their values."""
    for option, values in (
        ("--conf", conf),
        ("--python", python and [python]),
        ("--archive", archive and [str(archive)]),
        ("--executor-env", executor_env),
        ("--workers", workers and [workers]),
    ):
        if values:
            refuse(option, values[0], "expected together with --master")
    if shared_warehouse:
        end("--shared-warehouse: expected together with --master", EXIT_USAGE)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Exit with one line and a status for errors of the engine, of the registry and of the system.

    Other exceptions are defects and keep their traceback.
    """
    try:
        yield
    except COMMAND_ERRORS as error:
        end("; ".join(error_lines(error)), exit_of_error(error))


def error_lines(error: Exception) -> list[str]:
    """Return the lines of an error's message, at least one: without a message the name of its class."""
    return [line for line in str(error).splitlines() if line] or [type(error).__name__]


def end(message: str, status: int) -> NoReturn:
    """Print an error on stderr, and exit with a status."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(status)
