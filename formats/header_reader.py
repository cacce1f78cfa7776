"""Reader of Kafka headers: each column is read from the whole value of one header.

A header is read like a raw message: as bytes for BINARY, as a text in UTF-8 for every other type. If a record has several
headers of the same name, the last header counts, as in Kafka's own `Headers.lastHeader`. A header without a value is null.
A column with a `time_format` is read as a text, which is then converted. A value that cannot be read is a fault with the
reason `MALFORMED_HEADER`; a value that is too large for its column keeps the reason `OUT_OF_RANGE`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.time_formats import TimeTexts, time_texts
from braid.formats.mapping.times_reader import as_texts, time_column
from braid.formats.message_reader import ReadMessages
from braid.formats.raw_reader import raw_column
from braid.lake import to_arrow_type


class HeaderReader:
    """Reads the headers of one stream's records."""

    def __init__(self, columns: Sequence[MappedColumn]) -> None:
        """Prepare to read.

        Args:
            columns: The columns, each with the name of its header as the only name of its path.
        """
        self._columns = tuple(columns)
        self._times = [
            None if one.time_format is None else time_texts(one.time_format, one.type)
            for one in columns
        ]

    def read(self, headers: pa.ListArray) -> ReadMessages:
        """Return the columns of a batch of records.

        Args:
            headers: Of each record a list of structs of `key`, a string, and `value`, binary; or null, which means none.
        """
        faults = Faults(len(headers))
        arrays: list[pa.Array] = []
        missing: dict[str, pa.BooleanArray] = {}
        each = headers.flatten()
        if not self._columns or not len(each):
            # Most topics have no headers, and their batches need no closer look.
            arrays = [pa.nulls(len(headers), to_arrow_type(one.type)) for one in self._columns]
            is_missing = pa.repeat(pa.scalar(True), len(headers))
            missing = {one.name: is_missing for one in self._columns if one.finds_missing}
            return ReadMessages(arrays=arrays, faults=faults, with_undeclared=[], missing=missing)
        # Not `list_parent_indices`: it counts what a null hides, and `flatten` drops that.
        counts = pc.list_value_length(headers).fill_null(0).to_numpy(zero_copy_only=False)
        records = np.repeat(np.arange(len(headers)), counts)
        names, values = pc.struct_field(each, "key"), pc.struct_field(each, "value")
        for column, times in zip(self._columns, self._times, strict=True):
            (name,) = column.path
            found = np.flatnonzero(pc.equal(names, name).to_numpy(zero_copy_only=False))
            place = np.full(len(headers), -1)
            # Of several headers of a record the last assignment stays.
            place[records[found]] = found
            is_missing = place < 0
            chosen = values.take(pa.array(place, mask=is_missing))
            arrays.append(_column(chosen, column, faults, times=times))
            if column.finds_missing:
                missing[column.name] = pa.array(is_missing)
        return ReadMessages(arrays=arrays, faults=faults, with_undeclared=[], missing=missing)


def _column(
    values: pa.BinaryArray, column: MappedColumn, faults: Faults, *, times: TimeTexts | None
) -> pa.Array:
    found = Faults(len(values))
    subject = f"header {column.address}"
    (plain,) = as_texts([column])
    array = raw_column(values, plain, found, subject=subject)
    if times is not None:
        array = time_column(array, column, found, subject=subject, times=times)
    for row in found.rows:
        fault = found[row]
        if fault.reason is DeadLetterReason.MALFORMED:
            fault = Fault(fault.reason, f"{subject}: {fault.message}")
        is_far = fault.reason is DeadLetterReason.OUT_OF_RANGE
        reason = fault.reason if is_far else DeadLetterReason.MALFORMED_HEADER
        faults.add(row, Fault(reason, fault.message))
    return array
