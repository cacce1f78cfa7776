"""Contract of a definition file: the declarations of a table and its streams, for `braid test`."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from braid.schemas.contract import COLUMNS_MAX, Contract, at_most
from braid.schemas.stream import StreamDefinition
from braid.schemas.table import TableSpec


class DefinitionFile(Contract):
    """Declarations of one table: the bodies with which it and its streams are registered over HTTP.

    Several files may name one table, such as one with the table and one for each stream.

    Attributes:
        name: `<database>.<table>`.
        table: The table; None: another file has it.
        streams: Streams by name.
    """

    name: str = Field(min_length=1, examples=["shop.orders"])
    table: TableSpec | None = None
    streams: Annotated[Mapping[str, StreamDefinition], at_most(COLUMNS_MAX)] = Field(
        default_factory=dict
    )
