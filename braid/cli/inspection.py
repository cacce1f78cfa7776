"""Implementation of `braid table inspect` (declared in `table_cli`): a view of a table's metadata as text or JSON on stdout.

The engine's `Inspection` makes the views (snapshots, files and so on).
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import typer

from braid.lake import Catalog, ReadAt


def show(
    warehouse: str,
    identifier: str,
    view: str,
    *,
    at: ReadAt,
    last: int | None,
    as_json: bool,
) -> int:
    """Print a view of a table, one line per row; return the exit status.

    Raises:
        LakeError: What `Inspection.view` raises.
    """
    inspection = Catalog(warehouse).table(identifier).inspect
    rows = inspection.view(view, at=at, last=last)
    for line in json_lines(rows) if as_json else text_lines(rows):
        typer.echo(line)
    return 0


def text_lines(view: pa.Table) -> list[str]:
    """Return a line of column names and a line per row, aligned; numbers are right-aligned."""
    columns = [[name, *map(_text, view.column(name).to_pylist())] for name in view.column_names]
    aligned = [
        _aligned(texts, is_number=pa.types.is_integer(field.type))
        for texts, field in zip(columns, view.schema, strict=True)
    ]
    return ["  ".join(cells).rstrip() for cells in zip(*aligned, strict=True)]


def json_lines(view: pa.Table) -> list[str]:
    """Return each row as a JSON object, with times in ISO 8601."""
    return [
        json.dumps({name: _plain(value) for name, value in row.items()}) for row in view.to_pylist()
    ]


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
