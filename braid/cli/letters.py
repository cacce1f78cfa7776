"""Implementation of `braid stream dead-letters` and `braid stream replay` (declared in `stream_cli`).

Both commands read the dead-letter topic in their own process, and need no runner.
"""

import json
import time
from collections.abc import Mapping

import typer

from braid.cli.audit import record
from braid.cli.letter_arguments import letter_line
from braid.cli.output import OutputFormat, print_record
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog, StreamPosition, SystemClock, file_io_for
from braid.pipelines.replay.letter_pages import LETTERS_MAX, read_page
from braid.pipelines.replay.letter_standing import Standing
from braid.pipelines.replay.registered_replay import RegisteredStreams
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.stream_entries import entry_of
from braid.schemas import AuditAction, AuditChange, LetterSelection, ReplayResult


def show(
    warehouse: str,
    identifier: str,
    stream: str,
    chosen: LetterSelection,
    *,
    clusters: KafkaClusters,
    last: int,
    output: OutputFormat,
) -> int:
    """Print a stream's dead letters, oldest first, and their numbers by reason; return the exit status.

    Raises:
        RegistryError: There is no such stream, or a newer version has registered it.
        LakeError: Registry, table or Kafka cannot be read.
    """
    streams, registrar = _open(warehouse, clusters)
    document = registrar.document(identifier)
    judge = streams.judge(document, stream)
    source = streams.letters(entry_of(document, stream))
    start: Mapping[int, int] | None = None
    shown = 0
    while shown < last:
        page = read_page(
            source,
            judge,
            chosen,
            limit=min(last - shown, LETTERS_MAX),
            start=start,
            monotonic_s=time.monotonic,
        )
        for letter in page.letters:
            print_record(letter, output, letter_line(letter))
        shown += len(page.letters)
        start = page.next
        if start is None:
            break
    typer.echo(_counts(judge.position), err=True)
    return 0


def replay(
    warehouse: str,
    identifier: str,
    stream: str,
    chosen: LetterSelection,
    *,
    clusters: KafkaClusters,
) -> int:
    """Replay a stream's dead letters, print the result as JSON, and return the exit status.

    Returns:
        0; 1 if records were refused again, or cannot be replayed.

    Raises:
        RegistryError: There is no such stream, or its dead letters cannot be replayed.
        LakeError: The replay cannot be right, or something does not answer; what was committed stays.
    """
    streams, registrar = _open(warehouse, clusters)
    document = registrar.document(identifier)
    registrar.check_replay(identifier, stream, chosen)
    registrar.allow_replays(identifier)
    change = AuditChange(pointer="", after=chosen.model_dump(mode="json", exclude_none=True))
    record(warehouse, identifier, AuditAction.REPLAY_DEAD_LETTERS, change, stream=stream)
    run = streams.replay(
        document,
        stream,
        chosen,
        on_commit=lambda count: typer.echo(f"replayed {count}", err=True),
    )
    result = run.run(finished_ms=SystemClock().now_ms)
    typer.echo(json.dumps(result.model_dump(mode="json"), indent=2))
    for line in _left(result):
        typer.echo(line, err=True)
    return 1 if result.failed_again or result.left else 0


def _open(warehouse: str, clusters: KafkaClusters) -> tuple[RegisteredStreams, Registrar]:
    clock, file_io = SystemClock(), file_io_for(warehouse)
    catalog = Catalog(warehouse, file_io=file_io, clock=clock)
    registry = RegistryStore(file_io, warehouse, clock)
    streams = RegisteredStreams(registry=registry, catalog=catalog, clusters=clusters)
    return streams, Registrar(registry, catalog, clock, clusters=clusters)


def _counts(position: StreamPosition) -> str:
    total, letters = position.account.dead_lettered, position.letters
    reasons = ", ".join(f"{count} {reason}" for reason, count in letters.by_reason.items())
    return f"{total} dead letters ({reasons or 'none'}), {letters.replayed_records} replayed"


def _left(result: ReplayResult) -> list[str]:
    return [f"{count} left: {Standing(name).words}" for name, count in result.left.items()]
