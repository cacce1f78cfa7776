"""Reader of Kafka records: the columns of a stream, and the faults of the records that it refuses.

A record is refused for the first of these reasons:

1. `record_kinds` refuses it;
2. its value is no message of the stream's format (`malformed`), or has a value that does not fit its column's
   type (`wrong_type`, `out_of_range`, `not_null` inside of a value); an expression fails for it (`expression`), or
   gives a value that its column does not hold; or the Kafka key or a header does not
   contain what is read from it (`malformed_key`, `malformed_header`), or the timestamp is none that its column
   holds (`out_of_range`);
3. it lacks the field or the header of a column that rejects such records (`missing_field`), and is no delete;
4. a value is too long to name a partition's directory (`out_of_range`), or the texts and bytes of the primary
   key together have more bytes than the table allows (`too_large`; partition columns do not count);
5. a key column is null (`missing_key`), or another NOT NULL column is (`not_null`);
6. all ordering columns are null (`null_ordering`), unless such a record clears the group;
7. the column with the row kind (`rowkind.field`) has a value that the table does not accept (`row_kind`);
8. the aggregate function of a column cannot read the value (`unreadable`): once written, it would make every
   merge of its key fail, and with it full scans and compactions of the table;
9. it has a field that is not declared (`new_field`), where the stream rejects such fields. Where the stream
   lets its table evolve, such a record is only named, and the task decides.

Of a delete only the columns are read that it needs (`StreamPlan.delete_columns`); all others are null, and its
fields are not searched for undeclared ones.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import rows_where
from braid.formats.change_capture.envelopes import open_envelopes
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.expressions.computed_reader import reader_with_computed
from braid.formats.fault import Fault, Faults
from braid.formats.json.key_reader import KeyReader
from braid.formats.json.message_reader import TOO_DEEP
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReaderOf, ReadMessages
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import RowKind, TableSchema, TypeRoot, ValueChecks, key_is_long, to_arrow_type
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
)
from braid.records.part_reader import PART_COLUMNS, PartReader
from braid.records.partition_names import is_long_directory, partition_bytes_max
from braid.records.plan_changes import plan_changes, value_readers
from braid.records.record_columns import KEY
from braid.records.record_kinds import RecordKinds, SortedRecords
from braid.records.rows_of_records import replaced_rows, spread_faults
from braid.records.stream_plan import StreamPlan
from braid.schemas import ColumnSource, OnMissing, OnNewField

_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_WIDENABLE: Final = (DeadLetterReason.OUT_OF_RANGE, DeadLetterReason.WRONG_TYPE)
_RETRACTS: Final = (RowKind.DELETE.symbol, RowKind.UPDATE_BEFORE.symbol)
_SHOWN_MAX: Final = 80
# Bounds of a message about undeclared fields: the number of names, and the length of each.
_NAMES_MAX: Final = 10
_NAME_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecords:
    """The columns of a batch of records.

    Attributes:
        records: The records that the declaration does not leave out, which all other attributes are about. A
            captured change that yields several rows is there for each of them.
        left_out: The number of records that it leaves out.
        values: Their values, or the rows of captured changes; null where a record has none, or is refused.
        is_delete: Whether each record is a delete.
        columns: By name, one array per column that is read from records, in the Arrow form of its type; its
            values are defined only where the record has no fault.
        missing: By name of each kept column, where a record lacks the field and is no delete, without nulls;
            a column that is not named is missing nowhere.
        faults: The faults of refused records, by row.
        seen_fields: Addresses of the fields of conditions that some record had a value for.
        widenable: Rows that are refused for a value of their message which a wider type of its column may hold,
            ascending.
        with_undeclared: Rows whose message may have an undeclared field, ascending; only where the stream
            lets its table evolve.
        record_of: For each row the number of its record, ascending; None: each record has one row. If one of
            its rows has a fault, all have it.
        is_replaced: Whether a later row of the same record has the same key, so that this one is not written.
    """

    records: pa.RecordBatch
    left_out: int
    values: pa.BinaryArray
    is_delete: npt.NDArray[np.bool_]
    columns: Mapping[str, pa.Array]
    missing: Mapping[str, pa.BooleanArray]
    faults: Faults
    seen_fields: frozenset[str]
    widenable: list[int]
    with_undeclared: list[int]
    record_of: npt.NDArray[np.int64] | None = None
    is_replaced: npt.NDArray[np.bool_] | None = None


class RecordReader:
    """Reads the records of one stream by its plan."""

    def __init__(
        self,
        plan: StreamPlan,
        schema: TableSchema,
        *,
        schemas: SchemaSource | None = None,
        reader_of: ReaderOf | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            plan: The stream.
            schema: The table's schema, under which rows are written.
            schemas: The schemas that messages name; None where the stream's format names no registry.
            reader_of: Returns the reader of values where they are not in the stream's format; undeclared
                fields are then not searched for.
        """
        self._plan = plan
        self._finds_undeclared = (
            plan.spec.on_new_field is not OnNewField.IGNORE and reader_of is None
        )
        if reader_of is not None:
            reader_of = partial(reader_with_computed, fields=plan.fields, reader_of=reader_of)
        changes = plan_changes(plan, schemas) if reader_of is None else None
        self._kinds = RecordKinds(plan, schemas, reader_of=reader_of, changes=changes)
        self._of_deletes = [c for c in plan.value_columns if c.name in plan.delete_columns]
        self._values, self._deletes = (
            value_readers(plan, self._of_deletes, changes, schemas)
            if reader_of is None
            else (
                reader_of(plan.value_columns),
                reader_of(self._of_deletes) if plan.spec.has_deletes else None,
            )
        )
        self._keys = KeyReader(plan.key_columns) if plan.key_columns else None
        self._opens_keys = changes is not None
        topic, parts = plan.spec.topic, plan.part_columns
        needed = [column for column in parts if column.name in plan.delete_columns]
        others = [column for column in parts if column.name not in plan.delete_columns]
        self._parts = PartReader(needed, topic=topic) if needed else None
        self._parts_beside = PartReader(others, topic=topic) if others else None
        self._checks = ValueChecks.of(schema)

    def read(self, records: pa.RecordBatch) -> ReadRecords:
        """Return the columns of a batch, and its faults.

        Args:
            records: Kafka records (`record_columns`).

        Raises:
            StorageUnavailable: The schema registry of the stream does not answer; no record is judged by it.
        """
        plan = self._plan
        found = self._kinds.sort(records)
        records, values, faults = found.records, found.values, found.faults
        undecided = frozenset(faults.rows)
        deletes = np.flatnonzero(found.is_delete)
        if len(deletes):
            nothing = pa.scalar(None, values.type)
            values = pc.if_else(pa.array(found.is_delete), nothing, values)
        messages = self._values.read(values)
        columns = dict(zip((c.name for c in plan.value_columns), messages.arrays, strict=True))
        faults.add_found(messages.faults)
        if len(deletes) and self._deletes is not None:
            messages_of_deletes = self._deletes.read(found.values.take(pa.array(deletes)))
            self._set_deletes(messages_of_deletes, deletes, columns, faults)
        # What is wrong with a key or a header, no wider type of a field in the message can mend.
        widenable = [
            row for row in faults.rows if faults[row].reason in _WIDENABLE and row not in undecided
        ]
        columns |= self._columns_of_changes(found)
        if self._keys is not None:
            keys_of_records = records.column(KEY)
            if self._opens_keys:
                keys_of_records = open_envelopes(keys_of_records).payloads
            keys = self._keys.read(keys_of_records)
            columns |= zip((c.name for c in plan.key_columns), keys.arrays, strict=True)
            faults.add_found(keys.faults)
        missing = dict(messages.missing)
        if plan.part_columns:
            self._read_parts(records, deletes, columns, missing, faults)
        assert columns.keys() == {c.name for c in plan.columns}, "each column of the plan is read"
        self._set_kind(columns, found.is_delete)
        missing = self._missing(missing, columns, found.is_delete)
        self._reject_missing(missing, faults)
        for check in (self._long, self._nulls, self._row_kinds, self._unreadable):
            check(columns, faults)
        undeclared = messages.with_undeclared
        if plan.spec.on_new_field is OnNewField.REJECT and self._finds_undeclared:
            self._reject_undeclared(values, undeclared, faults)
            undeclared = []
        is_replaced = None
        if found.record_of is not None:
            spread_faults(faults, found.record_of)
            is_replaced = replaced_rows([columns[n] for n in plan.written.key], found.record_of)
        return ReadRecords(
            records=records,
            left_out=found.left_out,
            values=found.values,
            is_delete=found.is_delete,
            columns=columns,
            missing={
                name: is_missing
                for name, is_missing in missing.items()
                if plan.written.on_missing[name] is OnMissing.KEEP
            },
            faults=faults,
            seen_fields=found.seen_fields,
            widenable=widenable,
            with_undeclared=undeclared,
            record_of=found.record_of,
            is_replaced=is_replaced,
        )

    def wanted_changes(
        self, found: ReadRecords, fields: UndeclaredFieldReader
    ) -> dict[int, SchemaDelta]:
        """Return what the table needs for records with undeclared fields, and for values that do not fit.

        Records that no change would help get a fault, unless they have one.

        Args:
            found: The records, as `read` returns them.
            fields: Finds undeclared fields.

        Returns:
            The change by row, for the rows that need one; such a row may have a fault, which the change removes.
        """
        faults = found.faults
        marked = [row for row in found.with_undeclared if row not in faults]
        values = found.values
        changes = {}
        for row in sorted({*found.widenable, *marked}):
            try:
                delta = fields.read(self.tree(values[row].as_py()))
            except UnrepresentableFieldError as error:
                faults.add(row, Fault(DeadLetterReason.NEW_FIELD, str(error)))
            except ValueError:
                continue  # not of the format: it stays refused for that reason
            except RecursionError:
                faults.add(row, TOO_DEEP)
            else:
                if delta:
                    changes[row] = delta
        return changes

    def tree(self, value: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        return self._values.tree(value)

    def _columns_of_changes(self, found: SortedRecords) -> dict[str, pa.Array]:
        """Return the columns that are read from events, null where a delete does not need them."""
        if not found.is_delete.any():
            return dict(found.columns)
        is_delete, needed = pa.array(found.is_delete), self._plan.delete_columns
        return {
            name: array
            if name in needed
            else pc.if_else(is_delete, pa.scalar(None, array.type), array)
            for name, array in found.columns.items()
        }

    def _set_deletes(
        self,
        messages: ReadMessages,
        rows: npt.NDArray[np.int64],
        columns: dict[str, pa.Array],
        faults: Faults,
    ) -> None:
        """Set the columns of deletes, which are null so far, to the values of those that a delete needs."""
        for column, array in zip(self._of_deletes, messages.arrays, strict=True):
            old = columns[column.name]
            order = np.arange(len(old))
            order[rows] = len(old) + np.arange(len(rows))
            columns[column.name] = pa.concat_arrays([old, array]).take(pa.array(order))
        for place in messages.faults.rows:
            faults.add(int(rows[place]), messages.faults[place])

    def _read_parts(
        self,
        records: pa.RecordBatch,
        deletes: npt.NDArray[np.int64],
        columns: dict[str, pa.Array],
        missing: dict[str, pa.BooleanArray],
        faults: Faults,
    ) -> None:
        """Add the columns that are read from headers, or from what Kafka knows of the records."""
        parts = records.select(PART_COLUMNS)
        without_deletes = parts
        if self._parts_beside is not None and len(deletes):
            rows = np.arange(records.num_rows)
            without_deletes = parts.take(pa.array(rows, mask=np.isin(rows, deletes)))
        for reader, batch in ((self._parts, parts), (self._parts_beside, without_deletes)):
            if reader is not None:
                found = reader.read(batch)
                columns |= zip(reader.names, found.arrays, strict=True)
                missing |= found.missing
                faults.add_found(found.faults)

    def _set_kind(self, columns: dict[str, pa.Array], is_delete: npt.NDArray[np.bool_]) -> None:
        """Set the row kind of deletes, where a column holds it."""
        name = self._plan.kind_column
        if name is not None and name in columns and is_delete.any():
            kind = pa.scalar(RowKind.DELETE.symbol, columns[name].type)
            columns[name] = pc.if_else(pa.array(is_delete), kind, columns[name])

    def _missing(
        self,
        found: Mapping[str, pa.BooleanArray],
        columns: Mapping[str, pa.Array],
        is_delete: npt.NDArray[np.bool_],
    ) -> dict[str, pa.BooleanArray]:
        """Return where records lack a field; a delete sets every column, whatever fields it has."""
        if not found:
            return {}
        deletes = pa.array(is_delete)
        kinds = columns.get(self._plan.kind_column or "")
        if kinds is not None:
            deletes = pc.or_(deletes, pc.is_in(kinds, value_set=pa.array(_RETRACTS, kinds.type)))
        return {name: pc.and_not(is_missing, deletes) for name, is_missing in found.items()}

    def _reject_missing(self, missing: Mapping[str, pa.BooleanArray], faults: Faults) -> None:
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
                f"{plan.key_bytes_max} bytes together, the table's `braid.key.max-bytes`"
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
                message = f"column {column.name} is NOT NULL and missing or null"
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
        """Refuse values that the aggregate function of their column cannot read."""
        is_accepted = pa.array(~faults.is_faulty)
        for column in self._plan.columns:
            if column.name not in self._checks.functions:
                continue
            nothing = pa.scalar(None, to_arrow_type(column.type))
            accepted = pc.if_else(is_accepted, columns[column.name], nothing)
            for unfit in self._checks.unfit(column.name, accepted):
                message = (
                    f"column {column.name}: {unfit.message} (found `{unfit.value}`); {unfit.hint}"
                )
                faults.add(unfit.row, Fault(DeadLetterReason.UNREADABLE, message))

    def _reject_undeclared(
        self, values: pa.BinaryArray, candidates: list[int], faults: Faults
    ) -> None:
        reader = UndeclaredFieldReader(plan=self._plan)
        for row in candidates:
            if row in faults:
                continue
            try:
                found = reader.undeclared(self._values.tree(values[row].as_py()))
            except RecursionError:
                faults.add(row, TOO_DEEP)
                continue
            if found:
                shown = ", ".join(address[:_NAME_MAX] for address in found[:_NAMES_MAX])
                more = f" and {len(found) - _NAMES_MAX} more" if len(found) > _NAMES_MAX else ""
                message = f"the stream does not declare: {shown}{more}"
                faults.add(row, Fault(DeadLetterReason.NEW_FIELD, message))


def _what(column: MappedColumn) -> str:
    """Return what a column is read from, for the message that a record does not have it."""
    match column.source:
        case ColumnSource.HEADER:
            return f"header {column.address}"
        case ColumnSource.EXPRESSION:
            return "every field of the expression"
        case _:
            return f"field {column.address}"


def _refuse_nulls(array: pa.Array, fault: Fault, faults: Faults) -> None:
    if array.null_count:
        faults.add_all(rows_where(array.is_null()), fault)
