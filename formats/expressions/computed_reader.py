"""Reader of computed columns and of defaults: takes the fields from a format's reader, and computes the columns from them.

So computed columns and defaults are the same for messages of every format. Expressions see the values of the message, not the
defaults: a default fills only its own column.

A record for which an expression fails gets a fault; the other records of the batch are still read. A batch is split by
the sizes of its messages, and each part is evaluated separately. A part that needs too much memory is halved, down to
single records. A message whose results alone could need too much memory gets a fault.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import rows_where
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.declared_digits import with_declared_digits
from braid.formats.expressions.compiled import (
    CompiledExpression,
    compile_expression,
    input_array,
    input_name,
    with_addresses,
)
from braid.formats.expressions.result_arrays import RESULT_BYTES_MAX, result_column
from braid.formats.expressions.sql_engine import SqlEngine, SqlError, sql_engine
from braid.formats.expressions.syntax import SMALL_MESSAGE
from braid.formats.fault import Fault, Faults
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.declared_values import declared_value
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.lake import to_arrow_type

_PART_BYTES: Final = 64 << 20  # of results that are evaluated at once, at most
_RESULT_MAX: Final = 256 << 20  # bytes
_EXPLAINED_MAX: Final = 20  # records of a batch whose failure is explained, by column
_SHOWN_MAX: Final = 200
_UNKNOWN: Final = pa.struct([("result", pa.null())])


@dataclass(frozen=True, slots=True)
class _Computed:
    """A column that is computed, and where: its place among the reader's columns."""

    place: int
    column: MappedColumn
    compiled: CompiledExpression


class ComputedReader:
    """Reads messages, some of whose columns are computed or have a default."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        fields: Sequence[MappedColumn],
        reader_of: Callable[[Sequence[MappedColumn]], MessageReader],
        *,
        engine: SqlEngine | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns.
            fields: The fields that expressions can use: columns that are read from messages, and others.
            reader_of: Returns the reader of columns that are neither computed nor have a default.
            engine: Evaluates expressions; None: the engine of the process.

        Raises:
            ExpressionError: An expression cannot be evaluated over these fields.
        """
        self._columns = tuple(columns)
        self._fields = tuple(fields)
        self._own_engine = engine
        self._computed = [
            _Computed(place, column, compile_expression(column, fields))
            for place, column in enumerate(columns)
            if column.expression is not None
        ]
        used = {field for one in self._computed for field in one.compiled.fields}
        told = {
            field
            for one in self._computed
            if _tells_missing(one.column)
            for field in one.compiled.fields
        }
        # Fields that no column of this reader is read from are read beside its columns.
        inner = [column for column in columns if column.expression is None]
        places = {column.path: place for place, column in enumerate(inner)}
        self._place_of_field: dict[int, int] = {}
        for number in sorted(used):
            place = places.setdefault(fields[number].path, len(inner))
            if place == len(inner):
                inner.append(_only_field(fields[number], number))
            self._place_of_field[number] = place
        needs_missing = {self._place_of_field[number] for number in told}
        self._inner = [
            replace(one, finds_missing=_tells_missing(one) or place in needs_missing, default=None)
            for place, one in enumerate(inner)
        ]
        self._defaults = {
            column.name: declared_value(column.default, column.type)
            for column in columns
            if column.default is not None
        }
        self._messages = reader_of(self._inner)

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        found = self._messages.read(payloads)
        is_read = payloads.is_valid().to_numpy(zero_copy_only=False) & ~found.faults.is_faulty
        computed = self._results(found.arrays, payloads, is_read, found.faults)
        missing = self._missing(found)
        plain = iter(found.arrays)
        arrays = []
        for place, column in enumerate(self._columns):
            array = computed[place] if place in computed else next(plain)
            if column.name in self._defaults and column.name in missing:
                is_default = pc.and_(missing[column.name], pa.array(is_read))
                array = pc.if_else(is_default, self._defaults[column.name], array)
            arrays.append(array)
        wanted = {column.name for column in self._columns if column.finds_missing}
        return replace(
            found,
            arrays=arrays,
            missing={name: mask for name, mask in missing.items() if name in wanted},
        )

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        return self._messages.tree(payload)

    def _missing(self, found: ReadMessages) -> dict[str, pa.BooleanArray]:
        """Return where messages lack the field of a column, or all fields that its expression uses."""
        missing = dict(found.missing)
        for one in self._computed:
            names = [self._inner[self._place_of_field[n]].name for n in one.compiled.fields]
            if _tells_missing(one.column) and names and all(name in missing for name in names):
                are_missing = reduce(pc.and_, (missing[name] for name in names))
                missing[one.column.name] = pc.and_not(are_missing, pa.array(found.faults.is_faulty))
        return missing

    def _results(
        self,
        arrays: Sequence[pa.Array],
        payloads: pa.BinaryArray,
        is_read: npt.NDArray[np.bool_],
        faults: Faults,
    ) -> dict[int, pa.Array]:
        """Return the computed columns by place; null where a message is not read, or an expression fails."""
        if not self._computed:
            return {}
        sizes = pc.binary_length(payloads).fill_null(0).to_numpy(zero_copy_only=False)
        is_read = is_read & ~self._refused(sizes, is_read, faults)
        rows = np.flatnonzero(is_read)
        chosen = pa.array(rows)
        fields = {
            input_name(number): input_array(
                with_declared_digits(arrays[place].take(chosen), self._inner[place].type)
            )
            for number, place in self._place_of_field.items()
        } or {input_name(0): pa.array(np.zeros(len(rows), np.int8))}
        table = pa.table(fields)
        failing: dict[str, str] = {}
        parts = [
            self._evaluated(table[start:stop], failing) for start, stop in self._parts(sizes[rows])
        ]
        order = np.full(len(is_read), -1)
        order[rows] = np.arange(len(rows))
        scattered = pa.array(order, mask=~is_read)
        found = {}
        for one, of_column in zip(self._computed, zip(*parts, strict=True), strict=bool(parts)):
            results = _joined(list(chain.from_iterable(of_column)))
            is_failed = pc.is_null(results)
            values, unfit = result_column(pc.struct_field(results, 0), one.column.type)
            for row, fault in self._failures(one, rows_where(is_failed), table, failing):
                faults.add(int(rows[row]), fault)
            for row, reason in unfit.items():
                faults.add(int(rows[row]), _unfit(one.column, reason))
            found[one.place] = values.take(scattered)
        return found or {
            one.place: pa.nulls(len(is_read), to_arrow_type(one.column.type))
            for one in self._computed
        }

    def _refused(
        self, sizes: npt.NDArray[np.int64], is_read: npt.NDArray[np.bool_], faults: Faults
    ) -> npt.NDArray[np.bool_]:
        """Refuse messages whose results could need too much memory, whatever else is in their batch."""
        largest = max(one.compiled.growth for one in self._computed)
        is_large = is_read & (sizes * largest > _RESULT_MAX)
        for row in np.flatnonzero(is_large).tolist():
            message = (
                f"the message has {sizes[row]} bytes, and the result of an expression of the stream can have "
                f"{largest} times as many, more than the limit of {_RESULT_MAX}"
            )
            faults.add(row, Fault(DeadLetterReason.TOO_LARGE, message))
        return is_large

    def _evaluated(self, fields: pa.Table, failing: dict[str, str]) -> list[list[pa.StructArray]]:
        """Return the results of each expression, in parts (see `SqlEngine.evaluate`).

        Args:
            fields: The fields.
            failing: The expressions that fail whatever the fields are, each with the reason; those that are found are
                added. They are not evaluated record by record, since each attempt can take as long as for a batch.
        """
        if not failing:
            try:
                expressions = [one.compiled.sql for one in self._computed]
                return [[results] for results in self._engine.evaluate(expressions, fields)]
            except SqlError:
                failing |= self._always_failing(fields.schema)
        expressions = [
            one.compiled.sql for one in self._computed if one.compiled.sql not in failing
        ]
        found = iter(self._halved(expressions, fields) if expressions else ())
        return [
            [pa.nulls(len(fields), _UNKNOWN)] if one.compiled.sql in failing else next(found)
            for one in self._computed
        ]

    def _halved(self, expressions: Sequence[str], fields: pa.Table) -> list[list[pa.StructArray]]:
        """Return the results of expressions, of as many records at once as the engine can evaluate."""
        try:
            return [[results] for results in self._engine.evaluate(expressions, fields)]
        except SqlError:
            if len(fields) == 1:
                return [[self._alone(expression, fields)] for expression in expressions]
        middle = len(fields) // 2
        halves = (
            self._halved(expressions, fields[:middle]),
            self._halved(expressions, fields[middle:]),
        )
        return [first + second for first, second in zip(*halves, strict=True)]

    def _always_failing(self, fields: pa.Schema) -> dict[str, str]:
        """Return the expressions that the engine cannot evaluate even for a record without fields, with the reasons."""
        row = pa.table({field.name: pa.nulls(1, field.type) for field in fields})
        found = {}
        for one in self._computed:
            try:
                self._engine.evaluate([one.compiled.sql], row)
            except SqlError as error:
                found[one.compiled.sql] = str(error)
        return found

    def _alone(self, expression: str, fields: pa.Table) -> pa.StructArray:
        """Return the result of one expression for one record."""
        try:
            (results,) = self._engine.evaluate([expression], fields)
        except SqlError:
            return pa.nulls(1, _UNKNOWN)
        return results

    @property
    def _engine(self) -> SqlEngine:
        # Not kept: a reader is passed to processes, and an engine belongs to one.
        return self._own_engine or sql_engine()

    def _failures(
        self, one: _Computed, rows: Sequence[int], fields: pa.Table, failing: Mapping[str, str]
    ) -> Iterator[tuple[int, Fault]]:
        """Yield the faults of the records for which an expression fails."""
        for count, row in enumerate(rows):
            why = ""
            if count < _EXPLAINED_MAX:
                sql = one.compiled.sql
                found = failing.get(sql) or self._engine.why_failed(sql, fields[row : row + 1])
                why = f": {with_addresses(found, self._fields)}"
            yield row, Fault(DeadLetterReason.EXPRESSION, f"{_subject(one.column)} fails{why}")

    def _parts(self, sizes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield the parts of a batch that are evaluated at once, as bounds, by the sizes of its messages."""
        growth = sum(one.compiled.growth for one in self._computed)
        total = np.cumsum(np.maximum(sizes, SMALL_MESSAGE) * growth)
        start = 0
        while start < len(sizes):
            before = total[start - 1] if start else 0
            stop = int(np.searchsorted(total, before + _PART_BYTES, side="right"))
            stop = max(stop, start + 1)
            yield start, stop
            start = stop


def reader_with_computed(
    columns: Sequence[MappedColumn],
    fields: Sequence[MappedColumn],
    reader_of: Callable[[Sequence[MappedColumn]], MessageReader],
) -> MessageReader:
    """Return the reader of columns.

    Args:
        columns: The columns.
        fields: The fields that expressions can use.
        reader_of: Returns the reader of columns that are neither computed nor have a default.
    """
    if any(one.expression is not None or one.default is not None for one in columns):
        return ComputedReader(columns, fields, reader_of)
    return reader_of(columns)


def _tells_missing(column: MappedColumn) -> bool:
    return column.finds_missing or column.default is not None


def _only_field(field: MappedColumn, number: int) -> MappedColumn:
    """Return a field as a column of the format's reader, under a name that no column of a table has."""
    return replace(
        field, name=f"field {number}", is_in_expression=True, finds_missing=False, default=None
    )


def _joined(parts: Sequence[pa.StructArray]) -> pa.StructArray:
    """Return the results of a whole batch; of those that failed alone the type is not known."""
    known = next((part.type for part in parts if part.type != _UNKNOWN), _UNKNOWN)
    return pa.concat_arrays(
        [part if part.type == known else pa.nulls(len(part), known) for part in parts]
    )


def _unfit(column: MappedColumn, reason: DeadLetterReason) -> Fault:
    wanted = column.type.with_nullable(True)
    match reason:
        case DeadLetterReason.TOO_LARGE:
            found = f"more than {RESULT_BYTES_MAX} bytes"
        case DeadLetterReason.NOT_NULL:
            found = "a null inside of its result"
        case _:
            found = "a value that does not fit"
    return Fault(reason, f"{_subject(column)} gives {found}, expected {wanted}")


def _subject(column: MappedColumn) -> str:
    assert column.expression is not None, "the column is computed"
    shown = column.expression[:_SHOWN_MAX]
    return f"the expression `{shown}` for column {column.name}"
