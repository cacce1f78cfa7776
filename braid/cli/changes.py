"""Implementation of `braid table changes` (declared in `table_cli`): changes of rows on stdout, one per line, oldest first.

The lines are tab-separated texts after a line of column names, or records as JSON or YAML. The last snapshot that was read is
printed on stderr.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import orjson
import typer

from braid.cli.output import OutputFormat, print_record
from braid.formats.json_values import json_row
from braid.lake import Catalog, ReadAt, RowKind, python_rows
from braid.service.control.consumers import last_known_snapshot

_MAKE_CONSUMER: Final = "create it: braid table consumer reset TABLE CONSUMER --snapshot 1"


def show(
    warehouse: str,
    identifier: str,
    *,
    after: int | ReadAt | None,
    until: int | ReadAt | None,
    mode: str,
    consumer: str | None,
    columns: Sequence[str] | None,
    output: OutputFormat,
) -> int:
    """Print the changes of a range; return the exit status.

    Memory: one batch. The snapshot to continue after is printed on stderr at the end. A consumer is
    not moved: only the reader of the output knows whether the lines have arrived.

    Raises:
        LakeError: What `Table.changes` and reading the changes raise.
    """
    table = Catalog(warehouse).table(identifier)
    if consumer is not None:
        after = last_known_snapshot(table, consumer, hint=_MAKE_CONSUMER)
    changes = table.changes(after or 0, until, mode=mode, columns=columns)
    fields = [changes.schema.field(name) for name in changes.columns]
    if output is OutputFormat.TABLE:
        _print(["snapshot_id", "kind", *changes.columns])
    for part in changes:
        for batch in part.to_batches():
            kinds = batch.column(0).to_pylist()
            rows = python_rows(batch.select(changes.columns))
            for kind, values in zip(kinds, rows, strict=True):
                symbol, row = RowKind(kind).symbol, json_row(values, fields)
                if output is OutputFormat.TABLE:
                    _print([part.snapshot_id, symbol, *row.values()])
                    continue
                change = {"snapshot_id": part.snapshot_id, "kind": symbol, "row": row}
                print_record(change, output)
    last = changes.until_snapshot_id
    typer.echo(
        f"{identifier}: changes until snapshot {last}, continue with --after {last}", err=True
    )
    return 0


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
