"""Implementation of `braid stream backfill` (declared in `stream_cli`): progress on stderr, the result on stdout.

It checks the arguments, and then runs the backfill with the modules of `braid.backfill`.
"""

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import typer

from braid.backfill.backfill import Backfill, BackfillRequest, Target
from braid.backfill.backfill_commits import CommitRequest
from braid.backfill.files.csv_file import CsvOptions
from braid.backfill.files.file_mapping import parse_fields
from braid.backfill.files.file_source import FileSource
from braid.backfill.files.source_files import FileFormat, find_files, source_address
from braid.backfill.pace import Pace, PaceSettings
from braid.backfill.part_work import PartPool
from braid.backfill.progress import Progress
from braid.backfill.read_chunk import PartBound, Source
from braid.backfill.rejects import RejectFile
from braid.backfill.stream_lag import StreamLag
from braid.backfill.topic.offset_range import TopicRange, parse_partition_offsets
from braid.cli.arguments import end, error_lines, refuse
from braid.cli.exits import COMMAND_ERRORS, EXIT_USAGE
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog, Clock, SystemClock, file_io_for
from braid.registry.store.backfill_reports import BackfillReports
from braid.registry.store.documents import RegistryStore

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NAME_MAX: Final = 80
_ERROR_MAX: Final = 300
_FOLDERS: Final = re.compile(r"(?<!\w)([a-z0-9]+:/)?/([^\s/]+/)+")
"""The part of paths and addresses before the last name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillArguments:
    """A backfill as the command line declares it; `braid stream backfill --help` explains each field."""

    identifier: str
    stream: str
    name: str
    source: str | None = None
    topic: str | None = None
    from_offsets: str | None = None
    to_offsets: str | None = None
    clusters: KafkaClusters = field(default_factory=KafkaClusters)
    format: str | None = None
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    quote: str = '"'
    null_text: str = ""
    rejects: Path | None = None
    rejects_max: int = 1_000
    share: float = 1.0
    rows_per_second: float | None = None
    max_lag: float | None = None
    rows_per_commit: int = 1_000_000
    is_bulk: bool = False


def backfill(
    warehouse: str,
    arguments: BackfillArguments,
    *,
    clock: Clock | None = None,
    new_pool: Callable[[], AbstractContextManager[PartPool]] | None = None,
) -> int:
    """Backfill, and print what was done; return the exit status.

    Args:
        warehouse: Absolute path or address.
        arguments: The arguments.
        clock: The clock; None: the machine's.
        new_pool: Starts what writes instead, such as the executors of a cluster; None: this process writes.

    Raises:
        LakeError, RegistryError, OSError: What `Backfill.run` raises.
    """
    clock = clock or SystemClock()
    if not _NAME.fullmatch(arguments.name) or len(arguments.name) > _NAME_MAX:
        refuse("--name", arguments.name, "expected letters, digits, `-`, `_` and `.`, at most 80")
    file_io = file_io_for(warehouse)
    reports = BackfillReports(file_io, warehouse, clock)
    progress = Progress(
        stream=arguments.stream,
        name=arguments.name,
        clock=clock,
        report=lambda report: reports.write(arguments.identifier, report),
        show=lambda line: typer.echo(line, err=True),
    )
    rejects = RejectFile(
        arguments.rejects
        or Path(f"{arguments.identifier}.{arguments.stream}.{arguments.name}.rejects.jsonl")
    )
    lag = StreamLag(file_io, warehouse, f"{arguments.identifier}/{arguments.stream}", clock)
    run = Backfill(
        request=_request(arguments, rejects, clock),
        catalog=Catalog(warehouse, file_io=file_io, clock=clock),
        registry=RegistryStore(file_io, warehouse, clock),
        clock=clock,
        pace=Pace(
            settings=PaceSettings(
                share=arguments.share,
                rows_per_second=arguments.rows_per_second,
                lag_seconds_max=arguments.max_lag,
            ),
            clock=clock,
            sleep_ms=lambda duration_ms: time.sleep(duration_ms / 1000),
            lag_seconds=lag.seconds,
            on_wait=progress.wait,
        ),
        progress=progress,
        new_pool=new_pool,
    )
    try:
        position = run.run()
    except COMMAND_ERRORS as error:
        progress.end(_told(error, arguments.source))
        raise
    progress.end(None)
    account = position.account
    refused = f", {account.dead_lettered} refused ({rejects.path})" if account.dead_lettered else ""
    typer.echo(
        f"{arguments.identifier}/{arguments.stream}: the backfill {arguments.name} is finished: "
        f"{account.records} rows, {account.accepted} written, {account.folded} folded, "
        f"{account.ignored} left out{refused}"
    )
    return 0


def check_spread(arguments: BackfillArguments, *, is_shared: bool) -> None:
    """Exit with one line when a backfill cannot be written by the executors of a cluster.

    Args:
        arguments: The arguments.
        is_shared: Whether folders are the same for driver and executors.
    """
    if arguments.is_bulk:
        message = (
            "--bulk: not together with --master, because the rows are sorted on this machine's disk"
        )
        end(message, EXIT_USAGE)
    if arguments.source is None or is_shared:
        return
    if "://" not in source_address(arguments.source):
        refuse(
            "--from",
            arguments.source,
            "executors on other machines read it, and it is on this one: use an object store, or --shared-warehouse "
            "if every machine has it under the same path",
        )


def _told(error: Exception, source: str | None) -> str:
    """Return the first line of an error for the status of the stream, which everybody may read: without folders."""
    text = error_lines(error)[0]
    if source is not None:
        text = text.replace(source_address(source).rpartition("/")[0] + "/", "")
    return _FOLDERS.sub("", text)[:_ERROR_MAX]


def _request(arguments: BackfillArguments, rejects: RejectFile, clock: Clock) -> BackfillRequest:
    if (arguments.source is None) == (arguments.topic is None):
        refuse("--from", arguments.source, "expected either --from or --topic")
    return BackfillRequest(
        identifier=arguments.identifier,
        stream=arguments.stream,
        name=arguments.name,
        source_of=_files(arguments, arguments.source)
        if arguments.source is not None
        else _topic(arguments, arguments.topic or "", clock),
        is_own_topic=lambda target: target.entry.spec.topic == arguments.topic,
        commits=CommitRequest(
            rejects=rejects,
            rejects_max=arguments.rejects_max,
            rows=arguments.rows_per_commit,
            is_bulk=arguments.is_bulk,
            part=PartBound(records=arguments.rows_per_commit),
        ),
    )


def _files(arguments: BackfillArguments, address: str) -> Callable[[Target], Source]:
    """Return what opens files."""
    fields = parse_fields(arguments.columns)
    csv = CsvOptions(
        delimiter=_character("--delimiter", arguments.delimiter),
        quote=_character("--quote", arguments.quote),
        null_text=arguments.null_text,
    )
    declared = _format(arguments.format)

    def source_of(target: Target) -> FileSource:
        return FileSource(
            find_files(address, declared=declared),
            table=arguments.identifier,
            spec=target.document.table,
            stream=target.entry.spec,
            schema=target.table.schema,
            fields=fields,
            csv=csv,
            tell=lambda notice: typer.echo(notice, err=True),
        )

    return source_of


def _topic(arguments: BackfillArguments, topic: str, clock: Clock) -> Callable[[Target], Source]:
    """Return what opens a range of a topic."""
    if find_spec("kafka") is None:
        refuse("--topic", topic, "kafka-python is not installed: pip install 'braid-lake[spark]'")
    if arguments.from_offsets is None or arguments.to_offsets is None:
        refuse("--topic", topic, "expected also --from-offsets and --to-offsets")
    # Here, not above: files need no client of Kafka.
    from braid.backfill.topic.opened_topic import open_topic

    wanted = TopicRange(
        topic=topic,
        start=parse_partition_offsets("--from-offsets", arguments.from_offsets),
        end=parse_partition_offsets("--to-offsets", arguments.to_offsets),
    )
    return lambda target: open_topic(
        wanted, target, name=arguments.name, clusters=arguments.clusters, clock=clock
    )


def _format(text: str | None) -> FileFormat | None:
    if text is None:
        return None
    try:
        return FileFormat(text)
    except ValueError:
        refuse("--format", text, f"expected one of {', '.join(FileFormat)}")


def _character(option: str, text: str) -> str:
    text = "\t" if text == "\\t" else text
    if len(text) != 1 or not text.isascii():
        refuse(option, text, "expected one ASCII character, or \\t")
    return text
