"""Tables with their streams from files, for `braid test`: declarations that are checked as registration checks them.

Kafka clusters and schema registries are not checked: operators name them in a file of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from braid.cli.declarations import (
    Declarations,
    DeclarationsRefused,
    StreamKey,
    declarations_of,
    problem_line,
)
from braid.cli.documents import read_documents
from braid.registry.rules.stream_bounds import check_bounds, check_trigger
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import (
    FieldProblem,
    StreamDefinition,
    StreamEntry,
    StreamSpec,
    TableDocument,
    TableSpec,
)


def read_definitions(paths: Sequence[Path]) -> list[TableDocument]:
    """Return the tables of definition files with their streams, by name.

    Exits with one line if a file cannot be read.

    Args:
        paths: The files; several of them may be about one table.

    Raises:
        DeclarationsRefused: A table is declared twice or not at all, or a declaration breaks rules.
    """
    declared = declarations_of(read_documents([str(path) for path in paths]))
    documents: list[TableDocument] = []
    lines: list[str] = []
    for identifier in declared.identifiers:
        table = declared.tables.get(identifier)
        if table is None:
            lines.append(f"{identifier}: no file has the table")
            continue
        document = _document(identifier, table, declared.streams_of(identifier))
        lines += [
            problem_line(key, problem, declared.origins)
            for key, problem in _problems(document, declared)
        ]
        documents.append(document)
    if lines:
        raise DeclarationsRefused(lines)
    return documents


def stream_problems(
    table: TableSpec, specs: Mapping[str, StreamSpec], definition: StreamDefinition, name: str
) -> Iterator[FieldProblem]:
    """Yield the problems of a stream, by the rules that need neither the service nor the stored table.

    Args:
        table: The stream's table, which is valid.
        specs: All streams of the table with their defaults, by name.
        definition: The stream as it is declared.
        name: Its name.
    """
    yield from check_bounds(specs[name])
    yield from check_trigger(definition)
    yield from check_stream(table, specs, specs[name])


def _document(
    identifier: str, table: TableSpec, streams: Mapping[str, StreamDefinition]
) -> TableDocument:
    database, _, name = identifier.partition(".")
    entries = {
        stream: StreamEntry(spec=complete_stream(table, definition, name=stream))
        for stream, definition in streams.items()
    }
    return TableDocument(database=database, name=name, table=table, streams=entries)


def _problems(
    document: TableDocument, declared: Declarations
) -> Iterator[tuple[str | StreamKey, FieldProblem]]:
    identifier = document.identifier
    of_table = check_table(document.database, document.name, document.table)
    for problem in of_table:
        yield identifier, problem
    if of_table:  # the rules for streams require a valid table
        return
    specs = {name: entry.spec for name, entry in document.streams.items()}
    for name, definition in declared.streams_of(identifier).items():
        for problem in stream_problems(document.table, specs, definition, name):
            yield (identifier, name), problem
