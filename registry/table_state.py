"""The declaration and the schema of a table as of one moment.

They are two stores, and each may change between a look at the one and a look at the other.
"""

from dataclasses import dataclass
from typing import Final

from lake import Catalog, CommitConflict, Table, TableNotFound
from registry.store.documents import RegistryStore
from schemas import TableDocument

_ATTEMPTS_MAX: Final = 100
"""Each in vain means that somebody changed the schema just then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What a table is, here and there.

    Attributes:
        document: What is declared.
        table: Opened at the schema of the same moment. Its id is above `document.schema_id` only by
            changes that did not ask the registry.
    """

    document: TableDocument
    table: Table


def read_table_state(store: RegistryStore, catalog: Catalog, identifier: str) -> TableState:
    """Return a table's declaration and the table, as of one moment.

    Raises:
        TableNotFound: It is not registered, or not in the warehouse.
        CommitConflict: Its schema goes on changing.
    """
    table = catalog.table(identifier)
    for _ in range(_ATTEMPTS_MAX):
        schema_id = table.schema.id
        found = store.table(identifier)
        if found is None:
            message = f"no table {identifier} is registered"
            raise TableNotFound(message)
        table.refresh()
        # The schema was the same before and after the document was read, so they belong together.
        if table.schema.id == schema_id:
            return TableState(document=found.value, table=table)
    message = f"the schema of {identifier} goes on changing"
    raise CommitConflict(message)
