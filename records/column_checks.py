"""Checks of the columns that were read from records: which records are refused, and for which reason.

A record is refused for the first of these reasons:

1. a column with `on_missing: reject` finds nothing to read: the record has neither the column's field or header, nor
   any field of the column's expression (`missing_field`). A delete is never refused for this reason;
2. the value of a partition column is too long for the name of the partition's directory (`out_of_range`), or the texts and
   bytes of the primary key together have more bytes than the table allows (`too_large`; partition columns do not count);
3. a key column is null (`missing_key`), or another NOT NULL column is (`not_null`);
4. all ordering columns are null (`null_ordering`), unless such a record clears the group;
5. the column for row kinds (`rowkind.field`) holds no row kind that the table accepts (`row_kind`);
6. the value does not fit the aggregate function of its column (`unreadable`). If the function cannot read a value, every
   merge of its key would fail, and so would full scans and compactions of the table. If a sketch has another size or type
   than the column declares, the union could lose precision, or depend on the order of its records.
"""

import json
from collections.abc import Mapping
from functools import reduce
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import rows_where
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.mapped_column import MappedColumn
from braid.lake import TableSchema, TypeRoot, ValueChecks, key_is_long, to_arrow_type
from braid.records.partition_names import is_long_directory, partition_bytes_max
from braid.records.stream_plan import StreamPlan
from braid.schemas import ColumnSource, OnMissing

_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_SHOWN_MAX: Final = 80


class ColumnChecks:
    """Checks the columns of one stream's records."""

    def __init__(self, plan: StreamPlan, schema: TableSchema) -> None:
        """Prepare to check.

        Args:
            plan: The stream.
            schema: The table's schema, under which rows are written.
        """
        self._plan = plan
        self._values = ValueChecks.of(schema)

    def refuse(
        self,
        columns: Mapping[str, pa.Array],
        missing: Mapping[str, pa.BooleanArray],
        faults: Faults,
    ) -> None:
        """Add the faults of the records that a check refuses.

        Args:
            columns: By name, every column of the plan.
            missing: By name, where a record lacks the field of a column and is no delete, without nulls; a column that
                is not named is missing nowhere.
            faults: The faults of the records so far; of each record the first one stays.
        """
        self._missing(missing, faults)
        self._long(columns, faults)
        self._nulls(columns, faults)
        self._row_kinds(columns, faults)
        self._unreadable(columns, faults)

    def _missing(self, missing: Mapping[str, pa.BooleanArray], faults: Faults) -> None:
        plan = self._plan
        for column in plan.columns:
            if plan.written.on_missing.get(column.name) is not OnMissing.REJECT:
                continue
            if column.name in missing:
                message = f"{_what(column)} of column {column.name} is missing"
                fault = Fault(DeadLetterReason.MISSING_FIELD, message)
                faults.add_all(rows_where(missing[column.name]), fault)

    def _long(self, columns: Mapping[str, pa.Array], faults: Faults) -> None:
        """Refuse texts that are too long for the name of a directory, and keys that are too long."""
        plan = self._plan
        for column in plan.columns:
            if column.name in plan.partition_keys and column.type.root in _TEXTS:
                bound = partition_bytes_max(column.name)
                # A character takes 3 bytes at most when it is escaped: shorter texts need no closer look.
                may_be_long = pc.greater(pc.binary_length(columns[column.name]), bound // 3)
                for row in rows_where(may_be_long.fill_null(False)):
                    if is_long_directory(column.name, columns[column.name][row].as_py()):
                        message = (
                            f"the value for partition column {column.name} is too long to name a directory: "
                            f"more than {bound} bytes of UTF-8, percent-escaped"
                        )
                        faults.add(row, Fault(DeadLetterReason.OUT_OF_RANGE, message))
        names = [plan.columns[index].name for index in plan.long_key_columns]
        if names:
            message = (
                f"the texts and bytes of the key ({', '.join(names)}) have more than "
                f"{plan.key_bytes_max} bytes together, the limit that the table's `braid.key.max-bytes` sets"
            )
            is_long = key_is_long([columns[name] for name in names], plan.key_bytes_max)
            faults.add_all(rows_where(is_long), Fault(DeadLetterReason.TOO_LARGE, message))

    def _nulls(self, columns: Mapping[str, pa.Array], faults: Faults) -> None:
        """Refuse records without a key, without a value for a NOT NULL column, or without an order."""
        plan = self._plan
        for name in plan.written.key:
            message = f"key column {name} is missing or null"
            _refuse_nulls(columns[name], Fault(DeadLetterReason.MISSING_KEY, message), faults)
        for column in plan.columns:
            if column.name not in plan.written.key and not column.type.nullable:
                message = (
                    f"column {column.name} is NOT NULL, but {_source(column)} is missing or null"
                )
                _refuse_nulls(
                    columns[column.name], Fault(DeadLetterReason.NOT_NULL, message), faults
                )
        if plan.ordering and not plan.clears_null_ordering:
            arrays = [columns[name] for name in plan.ordering]
            if all(array.null_count for array in arrays):
                message = f"all ordering columns are null: {', '.join(plan.ordering)}"
                are_null = reduce(pc.and_, (array.is_null() for array in arrays))
                faults.add_all(rows_where(are_null), Fault(DeadLetterReason.NULL_ORDERING, message))

    def _row_kinds(self, columns: Mapping[str, pa.Array], faults: Faults) -> None:
        """Refuse a row kind that is missing, or that the table does not accept."""
        plan = self._plan
        if plan.kind_column is None or plan.kind_column not in columns:
            return
        kinds = columns[plan.kind_column]
        is_wrong = pc.invert(pc.is_in(kinds, value_set=pa.array(plan.row_kinds, kinds.type)))
        for row in rows_where(is_wrong):
            found = json.dumps(kinds[row].as_py(), default=str)[:_SHOWN_MAX]
            message = (
                f"column {plan.kind_column} holds the row kind: expected one of "
                f"{', '.join(plan.row_kinds)}, found {found}"
            )
            faults.add(row, Fault(DeadLetterReason.ROW_KIND, message))

    def _unreadable(self, columns: Mapping[str, pa.Array], faults: Faults) -> None:
        """Refuse values that do not fit the aggregate function of their column."""
        is_accepted = pa.array(~faults.is_faulty)
        for column in self._plan.columns:
            if column.name not in self._values.functions:
                continue
            nothing = pa.scalar(None, to_arrow_type(column.type))
            accepted = pc.if_else(is_accepted, columns[column.name], nothing)
            for unfit in self._values.unfit(column.name, accepted):
                message = (
                    f"column {column.name}: {unfit.message} (found `{unfit.value}`); {unfit.hint}"
                )
                faults.add(unfit.row, Fault(DeadLetterReason.UNREADABLE, message))


def _what(column: MappedColumn) -> str:
    """Return what a column is read from, for the message that a record does not have it."""
    match column.source:
        case ColumnSource.HEADER:
            return f"header {column.address}"
        case ColumnSource.EXPRESSION:
            return "every field of the expression"
        case _:
            return f"field {column.address}"


def _source(column: MappedColumn) -> str:
    """Return what a column's value is taken from, for the message that it is missing or null."""
    match column.source:
        case ColumnSource.HEADER:
            return "its header"
        case ColumnSource.EXPRESSION:
            return "the result of its expression"
        case _:
            return "its field"


def _refuse_nulls(array: pa.Array, fault: Fault, faults: Faults) -> None:
    if array.null_count:
        faults.add_all(rows_where(array.is_null()), fault)
