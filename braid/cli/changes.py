"""Implementation of `braid table changes` (declared in `table_service_cli`): changes of rows on stdout, one per line, oldest first.

The lines are tab-separated texts after a line of column names, or records as JSON or YAML. The last snapshot that was read is
printed on stderr.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson
import typer

from braid.cli.output import OutputFormat, print_record
from braid.formats.json_values import json_row
from braid.lake import Catalog, Changes, ReadAt, RowKind, python_rows
from braid.schemas.api import RowChange
from braid.service.control.consumers import last_known_snapshot

_MAKE_CONSUMER: Final = "create it: braid table consumer reset TABLE CONSUMER --snapshot 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesRange:
    """The changes that are printed.

    Attributes:
        after: The state after which they begin, or its snapshot; None: that of the consumer, else before the first snapshot.
        until: The state with which they end, or its snapshot; None: the newest.
        mode: `auto`, `delta` or `changelog`.
        consumer: The consumer at whose next snapshot they begin; None: none.
        columns: The columns, in order; None: all.
    """

    after: int | ReadAt | None
    until: int | ReadAt | None
    mode: str
    consumer: str | None
    columns: Sequence[str] | None


def show(warehouse: str, identifier: str, requested: ChangesRange, *, output: OutputFormat) -> int:
    """Print the changes of a range; return the exit status.

    Memory: one batch. The snapshot to continue after is printed on stderr at the end. A consumer is
    not moved: only the reader of the output knows whether the lines have arrived.

    Raises:
        LakeError: What `Table.changes` and reading the changes raise.
    """
    table = Catalog(warehouse).table(identifier)
    after = requested.after
    if requested.consumer is not None:
        after = last_known_snapshot(table, requested.consumer, hint=_MAKE_CONSUMER)
    changes = table.changes(
        after or 0, requested.until, mode=requested.mode, columns=requested.columns
    )
    if output is OutputFormat.TABLE:
        print_head(changes.columns)
    for change in _changes(changes):
        print_change(change, output)
    print_end(identifier, changes.until_snapshot_id)
    return 0


def print_head(columns: Iterable[str]) -> None:
    """Print the line of column names."""
    _print(["snapshot_id", "kind", *columns])


def print_change(change: RowChange, output: OutputFormat) -> None:
    """Print one change."""
    if output is OutputFormat.TABLE:
        _print([change.snapshot_id, change.kind, *change.row.values()])
    else:
        print_record(change, output)


def print_end(identifier: str, until_snapshot: int) -> None:
    """Print where the next range begins, on stderr."""
    typer.echo(
        f"{identifier}: changes until snapshot {until_snapshot}, continue with --after {until_snapshot}",
        err=True,
    )


def _changes(changes: Changes) -> Iterator[RowChange]:
    fields = [changes.schema.field(name) for name in changes.columns]
    for part in changes:
        for batch in part.to_batches():
            kinds = batch.column(0).to_pylist()
            rows = python_rows(batch.select(changes.columns))
            for kind, values in zip(kinds, rows, strict=True):
                yield RowChange.model_construct(
                    snapshot_id=part.snapshot_id,
                    kind=RowKind(kind).symbol,
                    row=json_row(values, fields),
                )


def _print(values: Iterable[object]) -> None:
    typer.echo("\t".join(map(_text, values)))


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return orjson.dumps(value).decode()
    # Unescaped, a tab would look like the next column and a line end like the next row; backslashes
    # are escaped so that the text `\t` stays different from a tab.
    return str(value).translate({9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"})
