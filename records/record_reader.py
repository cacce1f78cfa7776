"""Reader of Kafka records: returns the columns of a stream, and the faults of refused records.

A record is refused for the first of these reasons:

1. `record_kinds` refuses it;
2. its value is no message of the stream's format (`malformed`), or has a value that does not fit its column's type
   (`wrong_type`, `out_of_range`, `not_null` inside of a value);
3. an expression fails for it (`expression`), or gives a value that its column does not hold;
4. the Kafka key or a header does not contain what is read from it (`malformed_key`, `malformed_header`), or the column of
   the timestamp cannot hold the record's timestamp (`out_of_range`);
5. `column_checks` refuses what was read;
6. it has a field that is not declared, and the stream rejects undeclared fields (`new_field`).

In a stream with `on_new_field: evolve`, `read` only reports which records have undeclared fields. `wanted_changes` then
returns the schema change that each of these records needs, and the change for each record with a value that only a wider
type could hold. It refuses a record for which no permitted change exists (`new_field`).

Only the columns that a delete needs are read from a delete (`StreamPlan.delete_columns`). Its other columns are null, and
its message is not searched for undeclared fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.change_capture.envelopes import open_envelopes
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.declared_digits import with_declared_digits
from braid.formats.expressions.computed_reader import reader_with_computed
from braid.formats.fault import Fault, Faults
from braid.formats.json.message_reader import TOO_DEEP
from braid.formats.keys.key_readers import key_reader
from braid.formats.message_reader import ReaderOf, ReadMessages
from braid.formats.message_types import message_types
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import RowKind, TableSchema
from braid.records.column_checks import ColumnChecks
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.typed_field_reader import TypedFieldReader
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
)
from braid.records.part_reader import PART_COLUMNS, PartReader
from braid.records.record_columns import KEY
from braid.records.record_kinds import RecordKinds, SortedRecords
from braid.records.rows_of_records import replaced_rows, spread_faults
from braid.records.stream_plan import StreamPlan
from braid.records.value_readers import reader_of_changes, value_readers
from braid.schemas import OnMissing, OnNewField

_WIDENABLE: Final = (DeadLetterReason.OUT_OF_RANGE, DeadLetterReason.WRONG_TYPE)
_RETRACTS: Final = (RowKind.DELETE.symbol, RowKind.UPDATE_BEFORE.symbol)
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
        columns: By name, one array per column that is read from records, in the Arrow form of its type and with no
            more digits of the second than the type declares; its values are defined only where the record has no fault.
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
        changes = reader_of_changes(plan, schemas) if reader_of is None else None
        evolves = plan.spec.on_new_field is OnNewField.EVOLVE and reader_of is None
        self._types = None
        if evolves:
            declared = plan.spec.format
            self._types = changes.row_types() if changes else message_types(declared, schemas)
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
        self._keys = (
            key_reader(plan.key_columns, plan.spec.key_format, schemas)
            if plan.key_columns
            else None
        )
        self._opens_keys = changes is not None
        topic, parts = plan.spec.topic, plan.part_columns
        needed = [column for column in parts if column.name in plan.delete_columns]
        others = [column for column in parts if column.name not in plan.delete_columns]
        self._parts = PartReader(needed, topic=topic) if needed else None
        self._parts_beside = PartReader(others, topic=topic) if others else None
        self._checks = ColumnChecks(plan, schema)

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
        for column in plan.columns:
            columns[column.name] = with_declared_digits(columns[column.name], column.type)
        self._set_kind(columns, found.is_delete)
        missing = self._missing(missing, columns, found.is_delete)
        self._checks.refuse(columns, missing, faults)
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

        Raises:
            StorageUnavailable: The schema registry of the stream does not answer.
        """
        faults = found.faults
        marked = [row for row in found.with_undeclared if row not in faults]
        unfit = frozenset(found.widenable)
        typed = None if self._types is None else TypedFieldReader(fields, self._types)
        changes = {}
        for row in sorted({*unfit, *marked}):
            value = found.values[row].as_py()
            try:
                if typed is None:
                    delta = fields.read(self.tree(value))
                else:
                    delta = typed.read(value, partial(self.tree, value), is_unfit=row in unfit)
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
                message = f"the record has fields that the stream does not declare: {shown}{more}"
                faults.add(row, Fault(DeadLetterReason.NEW_FIELD, message))
