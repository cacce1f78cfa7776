"""Contracts of documents that declare tables and streams by name, in files and in requests for many of them."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from braid.schemas.contract import Contract
from braid.schemas.document import DesiredState
from braid.schemas.stream import StreamDefinition
from braid.schemas.table import TableSpec

KINDS: Final = ("Table", "Stream")


class TableDeclaration(Contract):
    """A table, by its name.

    Attributes:
        kind: `Table`.
        name: `<database>.<table>`.
        spec: The table, as the body with which it is registered over HTTP.
    """

    kind: Literal["Table"]
    name: str = Field(min_length=1, examples=["shop.orders"])
    spec: TableSpec


class StreamDeclaration(Contract):
    """A stream of a table, by its name.

    Attributes:
        kind: `Stream`.
        table: The stream's table, `<database>.<table>`.
        name: The stream's name.
        spec: The stream, as the body with which it is registered over HTTP.
        initial_state: The desired state of a stream that is new; a registered one keeps its own.
    """

    kind: Literal["Stream"]
    table: str = Field(min_length=1, examples=["shop.orders"])
    name: str = Field(min_length=1, examples=["payments"])
    spec: StreamDefinition
    initial_state: DesiredState = DesiredState.RUNNING


Declaration: TypeAlias = Annotated[
    TableDeclaration | StreamDeclaration, Field(discriminator="kind")
]
"""A document with a `kind`."""
