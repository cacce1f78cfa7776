"""Columns that a client may not see: the only place that decides which columns an answer has, and which requests are refused.

A masked column is absent from answers, as if the request had named all other columns. A request that names it is refused, and so is
a request whose answer would depend on its values. Rows of a table cannot be read at all with a mask on a column
of its key or on one that orders records or lets rows expire: each row is found, chosen or hidden by the values of these.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from braid.lake import LakeError, TableSchema
from braid.lake.merge.declared_options import declared_groups, split_names
from braid.registry.layout.physical_table import order_column, shown_fields
from braid.schemas import TableDocument
from braid.schemas.field_problems import quoted_list
from braid.service.control.row_status import status_columns

_LISTS: Final = ("sequence.field", "rowkind.field", "record-level.time-field")
"""Options whose columns decide which record of a key is shown, or whether one is."""
_TAG_BYTES: Final = 8


class ColumnMasked(LakeError):
    """The client may not see a column that the request names, or that its answer depends on."""


@dataclass(frozen=True, slots=True)
class ColumnMask:
    """The masked columns of one table for one client.

    Attributes:
        columns: Their names; those that the table does not have mask nothing.
    """

    columns: frozenset[str] = frozenset()

    @property
    def hidden(self) -> frozenset[str]:
        """Names that no answer has: the masked columns, and the generated ones that tell when, or whether, these were set."""
        return self.columns.union(map(order_column, self.columns))

    @property
    def tag(self) -> str:
        """What distinguishes entity tags of answers with this mask; empty without masked columns."""
        if not self.columns:
            return ""
        text = "\0".join(sorted(self.columns))
        return f"-{hashlib.blake2b(text.encode(), digest_size=_TAG_BYTES).hexdigest()}"

    def visible(
        self, schema: TableSchema, requested: Sequence[str] | None
    ) -> tuple[str, ...] | None:
        """Return the columns of an answer.

        Args:
            schema: The schema of the rows.
            requested: The columns that the request names; None: all that are shown.

        Returns:
            Names in the order of the answer; None: all columns that are shown, because nothing is masked.

        Raises:
            ColumnMasked: The request names a masked column, or the rows depend on one.
        """
        if not self.columns:
            return None if requested is None else tuple(requested)
        self.check_rows(schema)
        if requested is not None:
            self.check_named(requested)
            return tuple(requested)
        shown = (field.name for field in shown_fields(schema))
        return tuple(name for name in shown if name not in self.columns)

    def check_rows(self, schema: TableSchema) -> None:
        """Refuse rows that are found, chosen or hidden by the values of a masked column.

        Raises:
            ColumnMasked: A masked column is in the key, orders records, or lets rows expire.
        """
        if not self.columns.isdisjoint(fixed := _deciding_columns(schema)):
            names = quoted_list(sorted(self.columns & fixed))
            message = (
                f"you may not read rows of this table: {names} is masked, and decides which rows there are\n"
                "hint: an operator may mask other columns, or give a grant for another table"
            )
            raise ColumnMasked(message)

    def check_named(self, names: Iterable[str]) -> None:
        """Refuse names of hidden columns.

        Raises:
            ColumnMasked: A hidden column is among them.
        """
        hidden = self.hidden
        masked = [name for name in names if name in hidden]
        if masked:
            message = f"you may not see {quoted_list(masked)}\nhint: name other columns, or none: masked ones are left out"
            raise ColumnMasked(message)

    def check_page(self, columns: Sequence[str] | None) -> None:
        """Refuse a page token of a client that sees more.

        Args:
            columns: The columns that the token stands for; None: all.

        Raises:
            ColumnMasked: The token stands for a masked column.
        """
        if self.columns and columns is None:
            message = "the page token is of a client that sees all columns\nhint: start with the first page"
            raise ColumnMasked(message)
        self.check_named(columns or ())

    def check_status(self, document: TableDocument, schema: TableSchema) -> None:
        """Refuse states of rows that depend on a masked column.

        Raises:
            ColumnMasked: The state of a group tells something about a masked column.
        """
        if self.columns:
            self.check_rows(schema)
            self.check_status_columns(status_columns(document, schema))

    def check_status_columns(self, names: Iterable[str]) -> None:
        """Refuse states of rows that are computed from a masked column.

        Raises:
            ColumnMasked: A masked column is among them.
        """
        used = self.columns.intersection(names)
        if used:
            message = f"you may not see states of rows of this table: they tell whether {quoted_list(sorted(used))} is null"
            raise ColumnMasked(message)


NO_MASK: Final = ColumnMask()
"""The mask of a client that may see all columns."""


def _deciding_columns(schema: TableSchema) -> frozenset[str]:
    options = schema.options
    ordering = (name for group in declared_groups(options).values() for name in group.ordering)
    listed = (name for key in _LISTS if key in options for name in split_names(options[key]))
    return frozenset((*schema.primary_keys, *schema.partition_keys, *ordering, *listed))
