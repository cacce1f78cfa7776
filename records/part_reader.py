"""Reader of the columns that do not come from a message: from its headers, timestamp, partition, offset or topic, or constant."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import rows_where
from braid.formats.arrow_cast import cut_cast
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.header_reader import HeaderReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.declared_values import declared_value
from braid.formats.message_reader import ReadMessages
from braid.formats.times import moment_bounds
from braid.lake import to_arrow_type
from braid.records.record_columns import HEADERS, NO_TIMESTAMP_US, OFFSET, PARTITION, TIMESTAMP
from braid.schemas import ColumnSource

PART_COLUMNS: Final = (HEADERS, PARTITION, OFFSET, TIMESTAMP)
"""The columns of Kafka records that a reader needs."""

_MS: Final = pa.timestamp("ms", tz="UTC")


class PartReader:
    """Reads columns from the parts of one stream's records."""

    def __init__(self, columns: Sequence[MappedColumn], *, topic: str) -> None:
        """Prepare to read.

        Args:
            columns: The columns, none of which is read from a message.
            topic: The topic of the records.
        """
        self._columns = tuple(columns)
        self._topic = topic
        self._headers = HeaderReader([c for c in columns if c.source is ColumnSource.HEADER])
        self._constants = {
            column.name: declared_value(column.constant, column.type)
            for column in columns
            if column.constant is not None
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order in which they are read."""
        return tuple(column.name for column in self._columns)

    def read(self, records: pa.RecordBatch) -> ReadMessages:
        """Return the columns of a batch of records; null where all parts of a record are.

        Args:
            records: The columns `PART_COLUMNS` of Kafka records.
        """
        headers = self._headers.read(records.column(HEADERS))
        of_headers = iter(headers.arrays)
        arrays = [
            next(of_headers)
            if column.source is ColumnSource.HEADER
            else self._part(records, column, headers.faults)
            for column in self._columns
        ]
        return ReadMessages(
            arrays=arrays, faults=headers.faults, with_undeclared=[], missing=headers.missing
        )

    def _part(self, records: pa.RecordBatch, column: MappedColumn, faults: Faults) -> pa.Array:
        wanted = to_arrow_type(column.type)
        match column.source:
            case ColumnSource.TIMESTAMP:
                return _times(records.column(TIMESTAMP), column, faults)
            case ColumnSource.PARTITION:
                return records.column(PARTITION).cast(wanted)
            case ColumnSource.OFFSET:
                return records.column(OFFSET).cast(wanted)
            case ColumnSource.CONSTANT:
                return self._of_each(records, self._constants[column.name], wanted)
            case _:
                assert column.source is ColumnSource.TOPIC, "no other part is left"
                return self._of_each(records, pa.scalar(self._topic, wanted), wanted)

    def _of_each(self, records: pa.RecordBatch, value: pa.Scalar, wanted: pa.DataType) -> pa.Array:
        """Return the same value for each record; null where all parts of a record are."""
        nothing = pa.scalar(None, wanted)
        return pc.if_else(records.column(PARTITION).is_valid(), value, nothing)


def _times(timestamps: pa.TimestampArray, column: MappedColumn, faults: Faults) -> pa.Array:
    """Return a column of timestamps, or of milliseconds since the epoch; null where a record has none."""
    wanted = to_arrow_type(column.type)
    is_fine = pa.types.is_timestamp(wanted) and wanted.unit == "ns"
    low, high = moment_bounds(1_000, is_fine=is_fine)
    micros = timestamps.cast(pa.int64())
    is_far = pc.or_(pc.less(micros, low), pc.greater(micros, high)).fill_null(False)
    # A timestamp is a number that the producer chooses: some send nanoseconds.
    for row in rows_where(is_far):
        years = "1678 to 2261" if is_fine else "1 to 9999"
        message = (
            f"the record's timestamp: found {micros[row].as_py() // 1_000} milliseconds since 1970, "
            f"expected a time of the years {years} for {column.purpose}"
        )
        faults.add(row, Fault(DeadLetterReason.OUT_OF_RANGE, message))
    is_none = pc.or_(is_far, pc.equal(micros, NO_TIMESTAMP_US).fill_null(False))
    near = pc.if_else(is_none, pa.scalar(None, timestamps.type), timestamps)
    if not pa.types.is_timestamp(wanted):
        return cut_cast(near, _MS).cast(pa.int64())
    return cut_cast(near, pa.timestamp(wanted.unit, tz="UTC")).cast(wanted)
