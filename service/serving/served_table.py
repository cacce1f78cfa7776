"""What is served of one table: a snapshot with its lookup, its schema and the table's declaration. Immutable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from braid.formats.json_values import json_writer
from braid.lake import SnapshotLookup, Table
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import TableDocument


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class ServedTable:
    """A table at one snapshot.

    Attributes:
        table: The open table.
        lookup: Rows at the snapshot; has the snapshot and the schema.
        document: The declaration, at least as new as the schema; None: the table is not registered.
        is_ready: Whether all files had copies of all columns, so that rows are read without storage.
    """

    table: Table
    lookup: SnapshotLookup
    document: TableDocument | None
    is_ready: bool

    @cached_property
    def write_row(self) -> Callable[[Mapping[str, object]], dict[str, Any]]:
        """The function from a row to its JSON values."""
        return json_writer(shown_fields(self.lookup.schema))
