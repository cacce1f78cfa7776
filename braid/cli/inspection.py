"""Implementation of `braid table inspect` (declared in `table_cli`): a view of a table's metadata on stdout, a record for each row.

The engine's `Inspection` makes the views (snapshots, files and so on).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import typer

from braid.cli.output import OutputFormat, print_record
from braid.lake import Catalog, ReadAt


def show(
    warehouse: str,
    identifier: str,
    view: str,
    *,
    at: ReadAt,
    last: int | None,
    output: OutputFormat,
) -> int:
    """Print a view of a table; return the exit status.

    Raises:
        LakeError: What `Inspection.view` raises.
    """
    inspection = Catalog(warehouse).table(identifier).inspect
    rows = inspection.view(view, at=at, last=last)
    if output is OutputFormat.TABLE:
        for line in text_lines(rows):
            typer.echo(line)
        return 0
    for row in rows.to_pylist():
        print_record({name: _plain(value) for name, value in row.items()}, output)
    return 0


def text_lines(view: pa.Table) -> list[str]:
    """Return a line of column names and a line per row, aligned; numbers are right-aligned."""
    columns = [[name, *map(_text, view.column(name).to_pylist())] for name in view.column_names]
    aligned = [
        _aligned(texts, is_number=pa.types.is_integer(field.type))
        for texts, field in zip(columns, view.schema, strict=True)
    ]
    return ["  ".join(cells).rstrip() for cells in zip(*aligned, strict=True)]


def _aligned(texts: Sequence[str], *, is_number: bool) -> list[str]:
    width = max(map(len, texts))
    return [text.rjust(width) if is_number else text.ljust(width) for text in texts]


def _text(value: object) -> str:
    plain = _plain(value)
    if plain is None:
        return "-"
    if isinstance(plain, bool):
        return "yes" if plain else "no"
    if isinstance(plain, list):
        return ", ".join(map(str, plain))
    return str(plain)


def _plain(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        return value.isoformat(timespec="milliseconds")
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z"
