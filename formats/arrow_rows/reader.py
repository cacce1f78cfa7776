"""Reader of rows that are Arrow arrays already, such as those of Parquet files.

It has the same interface as the readers of messages. The payload of a row is the number of the row in the batch. So the reader
of records can leave rows out, read a subset of them, or read a row twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows
from braid.formats.arrow_rows.leaves import leaf_of, native_at, native_of, plain_array
from braid.formats.fault import Fault, Faults
from braid.formats.json.exact_values import ValueFault
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.native.exact_values import native_value
from braid.formats.native.leaf_arrays import leaf_column
from braid.lake import VARIANT_TYPE, TypeRoot, to_arrow_type

_NUMBER: Final = np.dtype("<i8")


@dataclass(slots=True)
class ArrowRows:
    """The rows that readers read next.

    Attributes:
        batch: The rows; set before they are read.
    """

    batch: pa.RecordBatch
    _numbers: pa.Buffer | None = field(default=None, init=False)

    def payloads(self) -> pa.BinaryArray:
        """Return one payload for each row of the batch."""
        count = self.batch.num_rows
        ends = np.arange(count + 1, dtype=np.int32) * _NUMBER.itemsize
        self._numbers = pa.py_buffer(np.arange(count, dtype=_NUMBER).tobytes())
        buffers = [None, pa.py_buffer(ends.tobytes()), self._numbers]
        return pa.Array.from_buffers(pa.binary(), count, buffers)

    def are_all(self, payloads: pa.BinaryArray) -> bool:
        """Return True only if payloads are those of all rows, in their order, as `payloads` has returned them."""
        if self._numbers is None or len(payloads) != self.batch.num_rows or payloads.offset:
            return False
        numbers = payloads.buffers()[2]
        is_same = numbers is not None and numbers.address == self._numbers.address
        return is_same and not payloads.null_count

    def row(self, payload: bytes) -> dict[str, Any]:
        """Return the row of a payload by the names of its columns."""
        place = int(np.frombuffer(payload, _NUMBER)[0])
        found: dict[str, Any] = self.batch.slice(place, 1).to_pylist()[0]
        return found


class ArrowRowsReader:
    """Reads columns from rows; a field is a column of the batch, or a part of a struct."""

    def __init__(self, columns: Sequence[MappedColumn], rows: ArrowRows) -> None:
        """Prepare to read.

        Args:
            columns: The columns, with their paths in the rows.
            rows: The rows, exchanged by their owner from batch to batch.
        """
        self._columns = tuple(columns)
        self._rows = rows

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of the rows that the payloads name (see `MessageReader.read`)."""
        faults = Faults(len(payloads))
        batch = self._taken(payloads)
        arrays, missing = [], {}
        for column in self._columns:
            found, is_missing = _field(batch, column.path)
            if column.finds_missing:
                missing[column.name] = pa.array(is_missing)
            arrays.append(_column(found, column, faults))
        return ReadMessages(arrays=arrays, faults=faults, with_undeclared=[], missing=missing)

    def tree(self, payload: bytes) -> Any:
        """Return a row as dicts, lists and scalars (see `MessageReader.tree`)."""
        return self._rows.row(payload)

    def _taken(self, payloads: pa.BinaryArray) -> pa.RecordBatch:
        batch = self._rows.batch
        if self._rows.are_all(payloads):
            return batch
        is_null = payloads.is_null().to_numpy(zero_copy_only=False)
        numbers = np.frombuffer(b"".join(payloads.drop_null().to_pylist()), _NUMBER)
        if not payloads.null_count:
            return batch.take(pa.array(numbers))
        places = np.zeros(len(payloads), _NUMBER)
        places[~is_null] = numbers
        return batch.take(pa.array(places, mask=is_null))


def field_type(schema: pa.Schema, path: Sequence[str]) -> pa.DataType | None:
    """Return the Arrow type of a field; None where rows have no such field."""
    name, *below = path
    if schema.get_field_index(name) < 0:  # absent, or there twice
        return None
    found: pa.DataType = schema.field(name).type
    for part in below:
        if not pa.types.is_struct(found) or found.get_field_index(part) < 0:
            return None
        found = found.field(part).type
    return found


def _field(
    batch: pa.RecordBatch, path: Sequence[str]
) -> tuple[pa.Array | None, npt.NDArray[np.bool_]]:
    """Return the values of a field, None without such a field; and where a row does not have it."""
    if field_type(batch.schema, path) is None:
        return None, np.ones(batch.num_rows, bool)
    name, *below = path
    array = batch.column(name)
    is_missing = np.zeros(batch.num_rows, bool)
    for part in below:
        is_missing |= array.is_null().to_numpy(zero_copy_only=False)
        array = pc.struct_field(array, part)
    return array, is_missing


def _column(values: pa.Array | None, column: MappedColumn, faults: Faults) -> pa.Array:
    if values is None:
        return pa.nulls(len(faults.is_faulty), to_arrow_type(column.type))
    leaf = leaf_of(values.type)
    if column.type.root is TypeRoot.VARIANT and _is_variant(values.type):
        parts = [values.field(name).cast(pa.binary()) for name in VARIANT_TYPE.names]
        fields, mask = list(VARIANT_TYPE), values.is_null()
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if leaf is not None:
        array, unfit = leaf_column(plain_array(values), leaf, column.type)
        for row in unfit:
            _add_fault(native_at(values, row), column, faults, row)
        return array
    return _nested_column(values, column, faults)


def _is_variant(data_type: pa.DataType) -> bool:
    """Return whether values are VARIANT values already, as Parquet files have them."""
    kinds = pa.types
    return (
        kinds.is_struct(data_type)
        and sorted(data_type.names) == sorted(VARIANT_TYPE.names)
        and all(
            kinds.is_binary(part.type) or kinds.is_large_binary(part.type) for part in data_type
        )
    )


def _nested_column(values: pa.Array, column: MappedColumn, faults: Faults) -> pa.Array:
    """Return a column of lists, maps or structs, value by value."""
    found: list[Any] = []
    for row, item in enumerate(values.to_pylist()):
        value = native_of(item, values.type)
        try:
            found.append(native_value(value, column.type, address=column.address))
        except ValueFault as fault:
            found.append(None)
            faults.add(row, _fault(fault, column))
    empty = pa.nulls(len(found), to_arrow_type(column.type))
    return replace_rows(empty, range(len(found)), found) if found else empty


def _add_fault(value: Any, column: MappedColumn, faults: Faults, row: int) -> None:
    try:
        native_value(value, column.type, address=column.address)
    except ValueFault as fault:
        faults.add(row, _fault(fault, column))


def _fault(fault: ValueFault, column: MappedColumn) -> Fault:
    text = f"field {fault.address}: found {fault.found}, expected {fault.expected}"
    return Fault(fault.reason, f"{text} for {column.purpose}")
