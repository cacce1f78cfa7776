"""Declared tables and streams, from documents of files: checked by their contracts and for names that are given twice.

A document has a `kind`, or is a table with its streams, as `braid test` reads it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from pydantic import TypeAdapter, ValidationError

from braid.cli.documents import Document
from braid.registry.names import is_identifier
from braid.schemas import DefinitionFile, DesiredState, FieldProblem, StreamDefinition, TableSpec
from braid.schemas.declaration_document import KINDS, Declaration, StreamDeclaration
from braid.schemas.field_problems import field_path, json_pointer, quoted_list

StreamKey: TypeAlias = tuple[str, str]
"""The name of a table, `<database>.<table>`, and that of a stream."""

_DECLARATION: TypeAdapter[Declaration] = TypeAdapter(Declaration)
_SHOWN_MAX = 300  # characters of a message
_PROBLEMS_MAX = 100


class DeclarationsRefused(Exception):
    """Documents break rules; `lines` has one line for each problem, with its place."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a declaration is.

    Attributes:
        document: The document.
        pointer: Pointer of the declaration, the body over HTTP, in the document.
    """

    document: Document
    pointer: str

    def place(self, pointer: str | None) -> str:
        """Return the file and line of a value of the declaration, by its pointer in there."""
        return self.document.place(f"{self.pointer}{pointer or ''}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """What files declare.

    Attributes:
        tables: Tables by name.
        streams: Streams by the names of their table and their own.
        initial_states: The desired states of these streams if they are new.
        origins: Where each of them is, by its name, or by the two names of a stream.
    """

    tables: Mapping[str, TableSpec] = field(default_factory=dict)
    streams: Mapping[StreamKey, StreamDefinition] = field(default_factory=dict)
    initial_states: Mapping[StreamKey, DesiredState] = field(default_factory=dict)
    origins: Mapping[str | StreamKey, Origin] = field(default_factory=dict)

    @property
    def identifiers(self) -> list[str]:
        """Names of all tables that are declared, or whose streams are, in alphabetical order."""
        return sorted({*self.tables, *(table for table, _ in self.streams)})

    def streams_of(self, identifier: str) -> dict[str, StreamDefinition]:
        """Return the declared streams of a table, by their own names."""
        return {name: one for (table, name), one in self.streams.items() if table == identifier}


def declarations_of(documents: Sequence[Document]) -> Declarations:
    """Return what documents declare.

    Raises:
        DeclarationsRefused: A document is none of the known kinds or breaks its contract, a name is none, or is given twice.
    """
    tables: dict[str, TableSpec] = {}
    streams: dict[StreamKey, StreamDefinition] = {}
    initial_states: dict[StreamKey, DesiredState] = {}
    origins: dict[str | StreamKey, Origin] = {}
    lines: list[str] = []
    for document in documents:
        try:
            found = list(_declared(document))
            if not found:
                lines.append(f"{document.place()}: expected a `table`, or `streams`")
            for one in found:
                origin = Origin(document=document, pointer=one.pointer)
                lines += _name_problems(one.key, origin, origins)
                origins[one.key] = origin
                if isinstance(one.spec, TableSpec):
                    tables[str(one.key)] = one.spec
                elif not isinstance(one.key, str):
                    streams[one.key] = one.spec
                    initial_states[one.key] = one.initial_state
        except ValidationError as error:
            lines += list(_problem_lines(document, error))
    if lines:
        raise DeclarationsRefused(lines[:_PROBLEMS_MAX])
    return Declarations(
        tables=tables, streams=streams, initial_states=initial_states, origins=origins
    )


def shown_name(key: str | StreamKey) -> str:
    """Return the name of a table, or of a stream below that of its table.

    >>> shown_name("shop.orders"), shown_name(("shop.orders", "payments"))
    ('shop.orders', 'shop.orders/payments')
    """
    return key if isinstance(key, str) else "/".join(key)


def problem_line(
    key: str | StreamKey, problem: FieldProblem, origins: Mapping[str | StreamKey, Origin]
) -> str:
    """Return a problem of a declaration as a line: file and line, name, field, what is wrong, and the hint."""
    value = "" if problem.value is None else f" (found {problem.value})"
    hint = "" if problem.hint is None else f"; hint: {problem.hint}"
    field_name = f"{problem.field}: " if problem.field else ""
    place = origins[key].place(problem.pointer)
    return f"{place}: {shown_name(key)}: {field_name}{problem.message}{value}{hint}"


class _Declared(NamedTuple):
    """A declaration, its pointer in the document, and the desired state of a stream that is new."""

    key: str | StreamKey
    spec: TableSpec | StreamDefinition
    pointer: str
    initial_state: DesiredState = DesiredState.RUNNING


def _declared(document: Document) -> Iterator[_Declared]:
    """Yield what a document declares.

    Raises:
        ValidationError: The document breaks its contract.
    """
    if isinstance(document.value, dict) and "kind" not in document.value:
        found = DefinitionFile.model_validate(document.value)
        if found.table is not None:
            yield _Declared(found.name, found.table, "/table")
        for name, definition in found.streams.items():
            yield _Declared((found.name, name), definition, json_pointer(("streams", name)))
        return
    declared = _DECLARATION.validate_python(document.value)
    if isinstance(declared, StreamDeclaration):
        key = (declared.table, declared.name)
        yield _Declared(key, declared.spec, "/spec", declared.initial_state)
    else:
        yield _Declared(declared.name, declared.spec, "/spec")


def _name_problems(
    key: str | StreamKey, origin: Origin, known: Mapping[str | StreamKey, Origin]
) -> Iterator[str]:
    table, stream = (key, None) if isinstance(key, str) else key
    place = origin.document.place()
    if not is_identifier(table):
        yield f"{place}: expected database.table, found {table!r}"
    elif stream is not None and not is_identifier(f"{table.split('.')[0]}.{stream}"):
        yield f"{place}: expected the name of a stream, a letter, then letters, digits and `_`, found {stream!r}"
    if key in known:
        yield f"{place}: {shown_name(key)} is declared at {known[key].place(None)} already"


def _problem_lines(document: Document, error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        # The name of the kind, by which pydantic has chosen the contract, is no part of the document.
        path = tuple(part for n, part in enumerate(problem["loc"]) if n or part not in KINDS)
        message = _message(problem["type"], problem["msg"])
        where = field_path(path)
        yield f"{document.place(json_pointer(path))}: {f'{where}: ' if where else ''}{message}"


def _message(kind: Any, message: str) -> str:
    if kind in ("union_tag_invalid", "union_tag_not_found", "model_attributes_type", "dict_type"):
        return (
            f"expected an object with a `kind` of {quoted_list(KINDS)}, or a table with its streams"
        )
    return message[:_SHOWN_MAX]
