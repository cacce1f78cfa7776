"""The output of commands: aligned text and tables for people, JSON and YAML for programs.

A command prints one document, or records one after the other: a list that may be long, or that goes on. Of records, JSON is one
object per line, and YAML one document per record.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

import typer
import yaml
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

NOTHING: Final = "-"
"""The text that stands for a missing value."""
_WIDTH_OF_FILES: Final = 100_000  # columns: what is no terminal has no width, and nothing is cut
_STYLES: Final = {
    "RUNNING": "green",
    "COMPLETED": "green",
    "EXTERNAL": "green",
    "STARTING": "yellow",
    "RETRYING": "yellow",
    "PAUSED": "cyan",
    "STOPPED": "dim",
    "UNASSIGNED": "red",
    "FAILED": "bold red",
}


class OutputFormat(StrEnum):
    """The form of a command's output."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Rows of texts below a line of column names.

    Attributes:
        columns: The names of the columns.
        rows: A cell for each column.
        numbers: Names of the columns whose cells are aligned at the right.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    numbers: frozenset[str] = field(default_factory=frozenset)

    def rendered(self) -> Table:
        """Return the table for a console."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in self.columns:
            justify: Literal["left", "right"] = "right" if name in self.numbers else "left"
            table.add_column(name, justify=justify, no_wrap=name in self.numbers)
        for row in self.rows:
            table.add_row(*row)
        return table


def print_document(
    document: BaseModel | dict[str, Any], output: OutputFormat, text: TextTable | None = None
) -> None:
    """Print one document.

    Args:
        document: A model, or JSON values.
        output: The form.
        text: The document for people, printed as `table`.
    """
    if output is OutputFormat.TABLE:
        if text is not None:
            print_table(text)
    else:
        typer.echo(_rendered(plain(document), output, indent=2))


def print_record(record: BaseModel | dict[str, Any], output: OutputFormat, line: str = "") -> None:
    """Print one of several records; `line` is the record for people, printed as `table`."""
    if output is OutputFormat.TABLE:
        typer.echo(line)
    else:
        start = "---\n" if output is OutputFormat.YAML else ""
        typer.echo(start + _rendered(plain(record), output, indent=None))


def print_table(table: TextTable) -> None:
    """Print a table on stdout: in colours and cut to the terminal's width on a terminal, otherwise plain and whole."""
    width = None if sys.stdout.isatty() else _WIDTH_OF_FILES
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table.rendered())
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def terminal() -> Console | None:
    """Return the terminal that shows progress, which is stderr; None: stderr is no terminal."""
    return Console(stderr=True) if sys.stderr.isatty() else None


def facts(pairs: Iterable[tuple[str, object]]) -> TextTable:
    """Return names and values as a table of two columns, one line each; values that are None are left out."""
    rows = [(name, cell(value)) for name, value in pairs if value is not None]
    return TextTable(columns=("field", "value"), rows=rows)


def cell(value: object) -> str:
    """Return a value as text: JSON without the quotes of a text, and a line for what is missing.

    >>> cell(None), cell(True), cell("a b"), cell({"x": 1})
    ('-', 'yes', 'a b', '{"x": 1}')
    """
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case BaseModel():
            return json.dumps(plain(value), ensure_ascii=False)
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


def state_cell(state: str) -> Text:
    """Return the state of a stream in its colour."""
    return Text(state, style=_STYLES.get(state, ""))


def plain(value: BaseModel | dict[str, Any]) -> Any:
    """Return JSON values of a model or of JSON values."""
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value


def _rendered(value: Any, output: OutputFormat, *, indent: int | None) -> str:
    if output is OutputFormat.JSON:
        return json.dumps(value, indent=indent, ensure_ascii=False)
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    return text.rstrip("\n")
