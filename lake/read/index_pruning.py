"""Pruning by file indexes: the bloom filters of a data file prove that no record of it matches.

Filters answer `=` and `in` only. A column's filter is found by the id of the column. It contains the values
as they were written, so it is used only if no later change of the column's type may have changed values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_types import DataField
from braid.lake.format.indexes.value_hash import HASHED_ROOTS, Hashes, hashes_stay, value_hashes
from braid.lake.format.schema import TableSchema
from braid.lake.read.predicate import BoundCondition, Operator
from braid.lake.snapshots.file_indexes import Filters


@dataclass(frozen=True)  # no slots: cached_property needs a dictionary
class _Wanted:
    """A condition that an index can answer.

    Attributes:
        field: The column.
        values: At least one value; the condition holds if the column has one of them.
    """

    field: DataField
    values: pa.Array

    @cached_property
    def hashes(self) -> Hashes:
        """Hashes of the values; computed for the first filter, because most tables have no filters."""
        return value_hashes(self.values, self.field.type)


class IndexPruning:
    """Checks one conjunction against the indexes of files."""

    def __init__(
        self,
        conditions: Sequence[BoundCondition],
        schema: TableSchema,
        older_schemas: OlderSchemas,
    ) -> None:
        """Select the conditions that indexes can answer.

        Args:
            conditions: The conjunction.
            schema: The schema under which rows are read; its options may disable the use of
                indexes.
            older_schemas: By id, the schemas of files that were written with other columns.
        """
        self._schema = schema
        self._older_schemas = older_schemas
        self._names: dict[int, list[str | None]] = {}
        is_read = schema.table_options.file_index_read_enabled
        self._wanted = [
            _Wanted(schema.field(item.column), item.values)
            for item in conditions
            if is_read and _is_answered(item, schema)
        ]

    @property
    def is_effective(self) -> bool:
        """Whether an index could exclude a file: there is a condition that it answers."""
        return bool(self._wanted)

    def excludes(self, filters: Filters, file: DataFileMeta) -> bool:
        """Return whether the filters of a file prove that no record of it fulfils all conditions."""
        if not filters:
            return False
        for name, wanted in zip(self._names_in(file.schema_id), self._wanted, strict=True):
            bloom = None if name is None else filters.get(name)
            if bloom is not None and not bloom.may_have(wanted.hashes).any():
                return True
        return False

    def _names_in(self, schema_id: int) -> list[str | None]:
        names = self._names.get(schema_id)
        if names is None:
            written = self._older_schemas.get(schema_id, self._schema)
            names = indexed_names([wanted.field for wanted in self._wanted], written)
            self._names[schema_id] = names
        return names


def indexed_names(fields: Iterable[DataField], written: TableSchema) -> list[str | None]:
    """Return the names of columns in the indexes of files; None where an index proves nothing.

    Args:
        fields: The columns as they are read.
        written: The schema of the files.
    """
    before = {field.id: field for field in written.fields}
    found = ((before.get(field.id), field) for field in fields)
    return [
        old.name if old is not None and hashes_stay(old.type, new.type) else None
        for old, new in found
    ]


def _is_answered(condition: BoundCondition, schema: TableSchema) -> bool:
    return (
        condition.op in (Operator.EQUAL, Operator.IN)
        and not condition.never_holds
        and schema.field(condition.column).type.root in HASHED_ROOTS
    )
