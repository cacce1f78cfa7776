"""Reader of Avro messages without a schema id, all of one schema: the usual ones vectorised, all others by the exact decoder.

A batch of fewer than 32 messages is read by the exact decoder alone.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from braid.formats.avro.column_decoder import decode_columns
from braid.formats.avro.exact_decoder import AvroValueError, decode_avro
from braid.formats.avro.schema import AvroType
from braid.formats.exact_rows import with_exact_rows
from braid.formats.fault import Fault, Faults, malformed
from braid.formats.field_tree import field_tree
from braid.formats.joined_messages import read_present
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.native.native_types import undeclared_fields
from braid.formats.native.record_values import record_values
from braid.formats.native.values import json_value
from braid.lake import to_arrow_type

# A step of the vectorised decoder costs as much for few messages as for many.
_VECTORISED_MIN: Final = 32


class AvroReader:
    """Reads bare Avro records of one schema."""

    def __init__(
        self,
        record: AvroType,
        columns: Sequence[MappedColumn],
        *,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            record: The type of the messages.
            columns: The columns, with their paths in the message; a field that the type does not have is
                missing in every message.
            paths_of_other_streams: Paths that other streams of the table read from the same topic.
            finds_undeclared: Whether messages with fields from which no column is read are reported: all of
                them, if the type has such fields.
        """
        self._record = record
        self._columns = tuple(columns)
        self._tree = field_tree(columns, paths_of_other_streams)
        self._has_undeclared = finds_undeclared and any(undeclared_fields(record, self._tree))

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        return read_present(payloads, self._columns, self._read_present)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        return json_value(decode_avro(payload, self._record))

    def _read_present(self, payloads: pa.BinaryArray) -> ReadMessages:
        count = len(payloads)
        if count < _VECTORISED_MIN:
            arrays = [pa.nulls(count, to_arrow_type(column.type)) for column in self._columns]
            missing = {c.name: np.ones(count, bool) for c in self._columns if c.finds_missing}
            odd = list(range(count))
        else:
            decoded = decode_columns(payloads, self._record, self._tree)
            arrays = [decoded.columns[column.path] for column in self._columns]
            missing = {
                c.name: decoded.missing[c.path].copy() for c in self._columns if c.finds_missing
            }
            odd = decoded.odd.tolist()
        faults = Faults(count)
        if odd:
            messages = payloads.take(pa.array(odd)).to_pylist()
            arrays = with_exact_rows(
                arrays,
                odd,
                map(self._values, messages),
                columns=self._columns,
                missing=missing,
                faults=faults,
            )
        return ReadMessages(
            arrays=arrays,
            faults=faults,
            with_undeclared=list(range(count)) if self._has_undeclared else [],
            missing={name: pa.array(mask) for name, mask in missing.items()},
        )

    def _values(self, message: bytes) -> list[Any] | Fault:
        try:
            record = decode_avro(message, self._record)
        except AvroValueError as error:
            return malformed(f"not Avro of the schema: {error}")
        return record_values(record, self._columns)
