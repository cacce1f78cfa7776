"""Records that are sent to the topic of a stream: from options or lines of JSON, and what became of each."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer
from pydantic import ValidationError

from braid.cli.arguments import refuse
from braid.cli.documents import STANDARD_INPUT
from braid.cli.exits import EXIT_FAILED
from braid.cli.output import OutputFormat, print_record
from braid.schemas.field_problems import field_path
from braid.schemas.pushed_records import RECORDS_MAX, PushedRecord, PushOutcome, PushResult

if TYPE_CHECKING:
    from braid.client import Stream

_PUSH_BYTES: Final = 512 << 10
"""Size of the lines that are sent in one request, below the bound of a body."""


def pushed_records(
    values: Sequence[str], file: str | None, *, is_named: bool
) -> list[list[PushedRecord]]:
    """Return the records by request; exit with one line if they are not given, or one is none.

    Args:
        values: Values of records.
        file: A file with a record in each line, `-` for standard input; None: there is none.
        is_named: Whether there may be one request only.
    """
    if bool(values) == (file is not None):
        refuse("--value", " ".join(values), "expected either records as --value or a --file")
    if file is None:
        batches = list(
            _batches(
                (_record(number, {"value": value}), len(value))
                for number, value in enumerate(values, 1)
            )
        )
    else:
        batches = list(_batches(_lines(file)))
    if not batches:
        refuse("--file", file, "expected a record in each line")
    if is_named and len(batches) > 1:
        refuse(
            "--idempotency-key",
            file,
            f"expected at most {RECORDS_MAX} records, or {_PUSH_BYTES >> 10} KiB",
        )
    return batches


def push_records(
    stream: "Stream",
    batches: Sequence[Sequence[PushedRecord]],
    *,
    idempotency_key: str | None,
    output: OutputFormat,
) -> int:
    """Send records, and print what became of each.

    Args:
        stream: The stream, of a client.
        batches: The records by request.
        idempotency_key: Name of the push, of one request; None: none.
        output: The form of the output.

    Returns:
        The exit status: 0; 1 if a record was refused.

    Raises:
        BraidError: The service refuses a request, or does not answer; the requests before it were sent.
    """
    is_refused = False
    for batch in batches:
        answer = stream.push(batch, idempotency_key=idempotency_key)
        for result in answer.records:
            is_refused = is_refused or result.outcome is PushOutcome.REFUSED
            print_record(result, output, _line(result))
        if answer.read_after is not None:
            typer.echo(f"read after: {answer.read_after}", err=True)
    return EXIT_FAILED if is_refused else 0


def _line(result: PushResult) -> str:
    if result.outcome is PushOutcome.ACCEPTED:
        return f"accepted: partition {result.partition}, offset {result.offset}"
    return f"refused: {result.reason}: {result.message}"


def _lines(file: str) -> Iterator[tuple[PushedRecord, int]]:
    """Yield the records of a file with the sizes of their lines, bytes."""
    try:
        data = sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()
    except OSError as error:
        refuse("--file", file, f"cannot be read: {error.strerror}")
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            yield _record(number, line), len(line)


def _record(number: int, given: bytes | dict[str, str]) -> PushedRecord:
    try:
        if isinstance(given, bytes):
            return PushedRecord.model_validate_json(given)
        return PushedRecord.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = field_path(first["loc"])
        refuse("record", number, f"{f'{where}: ' if where else ''}{first['msg']}")


def _batches(records: Iterator[tuple[PushedRecord, int]]) -> Iterator[list[PushedRecord]]:
    """Yield records in groups that one request has room for."""
    batch: list[PushedRecord] = []
    size = 0
    for record, length in records:
        if batch and (len(batch) == RECORDS_MAX or size + length > _PUSH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += length
    if batch:
        yield batch
