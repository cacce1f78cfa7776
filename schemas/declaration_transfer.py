"""Export and import of declarations: pages of them, requests with many of them, and the outcome for each."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from braid.schemas.contract import Contract, StrictBool, at_most
from braid.schemas.declaration_document import (
    Declaration,
    StreamDeclaration,
    TableDeclaration,
)
from braid.schemas.document import DesiredState
from braid.schemas.operation import OperationProblem
from braid.schemas.stream import StreamSpec

DECLARATIONS_MAX: Final = 1_000
"""Declarations of one request."""


class UnreadableTable(Contract):
    """A table whose declarations cannot be exported.

    Attributes:
        table: `<database>.<table>`.
        error: Why its document cannot be read.
    """

    table: str
    error: str


class ExportedStream(StreamDeclaration):
    """A stream, by its name, with all defaults filled in.

    Attributes:
        kind: `Stream`.
        table: The stream's table, `<database>.<table>`.
        name: The stream's name.
        spec: The stream, as the body with which it is registered over HTTP.
        initial_state: Its desired state.
    """

    spec: StreamSpec


class DeclarationPage(Contract):
    """A page of declarations.

    Attributes:
        declarations: Tables by name, each before its streams, which are ordered by name, too.
        unreadable: The tables of this page whose declarations are missing.
        next_page_token: Token of the next page; null: this is the last one.
    """

    declarations: tuple[
        Annotated[TableDeclaration | ExportedStream, Field(discriminator="kind")], ...
    ]
    unreadable: tuple[UnreadableTable, ...] = ()
    next_page_token: str | None = None


class DeclarationImport(Contract):
    """Declarations to register; tables are registered before streams, whatever their order is.

    Attributes:
        declarations: The declarations.
        replace: Whether a registered table or stream with another declaration is changed; otherwise it stays as it is.
        initial_state: The desired state of each stream that is new; null: that of its declaration.
    """

    declarations: Annotated[tuple[Declaration, ...], at_most(DECLARATIONS_MAX)]
    replace: StrictBool = False
    initial_state: DesiredState | None = None


class ImportAction(StrEnum):
    """What an import does with a declaration."""

    CREATE = "create"
    CHANGE = "change"
    LEAVE = "leave"


class DeclarationOutcome(Contract):
    """What has become of one declaration, or would.

    Attributes:
        table: `<database>.<table>`.
        stream: The stream; null: the declaration is that of the table.
        action: `create` or `change`; `leave` if it is registered with an equal declaration.
        plan: The effects of the action, one sentence each; empty if there is a problem.
        problem: Why the action is refused, with pointers into the request; null: it is not.
    """

    table: str
    stream: str | None
    action: ImportAction
    plan: tuple[str, ...] = ()
    problem: OperationProblem | None = None


class ImportAnswer(Contract):
    """What has become of the declarations of a request, or would.

    Attributes:
        outcomes: One for each declaration, in the order of the request.
        failed: How many declarations are refused.
    """

    outcomes: tuple[DeclarationOutcome, ...]
    failed: int
