"""Reader of definition files: the declarations of tables and their streams, checked as registration checks them.

Kafka clusters and schema registries are not checked: operators name them in a file of their own.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from braid.cli.arguments import refuse
from braid.registry.names import is_identifier
from braid.registry.rules.stream_bounds import check_bounds, check_trigger
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import (
    DefinitionFile,
    FieldProblem,
    StreamDefinition,
    StreamEntry,
    TableDocument,
    TableSpec,
)
from braid.schemas.field_problems import field_path

_SHOWN_MAX = 300  # characters of a message of a file that cannot be read


class DefinitionsRefused(Exception):
    """Definition files break rules; `lines` has one line for each problem."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def read_definitions(paths: Sequence[Path]) -> list[TableDocument]:
    """Return the tables of definition files with their streams, by name.

    Exits with one line if a file cannot be read.

    Args:
        paths: The files; several of them may name one table.

    Raises:
        DefinitionsRefused: A table is declared twice or not at all, or a declaration breaks rules.
    """
    tables: dict[str, TableSpec] = {}
    streams: dict[str, dict[str, StreamDefinition]] = {}
    lines: list[str] = []
    for path in paths:
        found = _read(path)
        known = streams.setdefault(found.name, {})
        if found.table is not None and found.name in tables:
            lines.append(f"{path}: another file has the table {found.name}")
        lines += [
            f"{path}: another file has the stream {name} of {found.name}"
            for name in sorted(known.keys() & found.streams.keys())
        ]
        if found.table is not None:
            tables[found.name] = found.table
        known.update(found.streams)
    lines += [f"{name}: no file has the table" for name in sorted(streams.keys() - tables.keys())]
    documents = []
    for name, table in sorted(tables.items()):
        document = _document(name, table, streams[name])
        lines += [_line(name, problem) for problem in _problems(document, streams[name])]
        documents.append(document)
    if lines:
        raise DefinitionsRefused(lines)
    return documents


def _read(path: Path) -> DefinitionFile:
    try:
        text = path.read_text(encoding="utf-8")
        found = DefinitionFile.model_validate(json.loads(text))
    except OSError as error:
        refuse("FILE", str(path), f"cannot be read: {error.strerror}")
    except ValidationError as error:
        first = error.errors()[0]
        refuse("FILE", str(path), f"{field_path(first['loc'])}: {first['msg'][:_SHOWN_MAX]}")
    except ValueError as error:  # no JSON, no UTF-8, or a number of too many digits
        refuse("FILE", str(path), f"expected JSON: {str(error)[:_SHOWN_MAX]}")
    if not is_identifier(found.name):
        refuse("FILE", str(path), f"name: expected database.table, found {found.name!r}")
    return found


def _document(
    identifier: str, table: TableSpec, streams: dict[str, StreamDefinition]
) -> TableDocument:
    database, _, name = identifier.partition(".")
    entries = {
        stream: StreamEntry(spec=complete_stream(table, definition, name=stream))
        for stream, definition in streams.items()
    }
    return TableDocument(database=database, name=name, table=table, streams=entries)


def _problems(
    document: TableDocument, definitions: dict[str, StreamDefinition]
) -> Iterator[FieldProblem]:
    of_table = check_table(document.database, document.name, document.table)
    yield from of_table
    if of_table:  # the rules for streams require a valid table
        return
    specs = {name: entry.spec for name, entry in document.streams.items()}
    for name, spec in specs.items():
        problems = [
            *check_bounds(spec),
            *check_trigger(definitions[name]),
            *check_stream(document.table, specs, spec),
        ]
        for problem in problems:
            yield problem.model_copy(update={"field": f"streams.{name}.{problem.field}"})


def _line(identifier: str, problem: FieldProblem) -> str:
    found = "" if problem.value is None else f" (found {problem.value})"
    hint = "" if problem.hint is None else f"; hint: {problem.hint}"
    return f"{identifier}: {problem.field}: {problem.message}{found}{hint}"
