"""Consistent read of a table's declaration and schema, which are stored in two places.

The schema is read before and after the declaration. If its id has changed in between, everything is
read again.
"""

from dataclasses import dataclass
from typing import Final

from braid.lake import Catalog, CommitConflict, Table, TableNotFound
from braid.registry.store.documents import RegistryStore
from braid.schemas import TableDocument

_ATTEMPTS_MAX: Final = 100
"""An attempt fails only if the schema changed during it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """A table's declaration and schema as of one moment.

    Attributes:
        document: The declaration.
        table: The table, opened at the schema of the same moment. The schema's id is above
            `document.schema_id` only by changes that were made without the registry.
    """

    document: TableDocument
    table: Table


def read_declared_table(store: RegistryStore, catalog: Catalog, identifier: str) -> DeclaredTable:
    """Return a table's declaration and the opened table, as of one moment.

    Raises:
        TableNotFound: The table is not registered, or not in the warehouse.
        CommitConflict: The table's schema changed during every attempt.
    """
    table = catalog.table(identifier)
    for _ in range(_ATTEMPTS_MAX):
        schema_id = table.schema.id
        found = store.table(identifier)
        if found is None:
            message = f"no table {identifier} is registered"
            raise TableNotFound(message)
        table.refresh()
        # Schema ids only grow: the same id before and after the read of the document means that the
        # schema did not change in between.
        if table.schema.id == schema_id:
            return DeclaredTable(document=found.value, table=table)
    message = f"the schema of {identifier} changed during every attempt to read it"
    raise CommitConflict(message)
