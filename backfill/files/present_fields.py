"""Reader of the columns of a CSV file: a column whose field the file does not have counts as missing in every row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader, ReaderOf, ReadMessages
from braid.lake import to_arrow_type


def reader_of_present(
    columns: Sequence[MappedColumn],
    reader_of: ReaderOf,
    *,
    has_field: Callable[[tuple[str, ...]], bool],
) -> MessageReader:
    """Return the reader of columns, some of which the files may have no field for.

    Args:
        columns: The columns.
        reader_of: Returns the reader of columns with fields.
        has_field: Whether the files have a field.
    """
    present = [column for column in columns if has_field(column.path)]
    if len(present) == len(columns):
        return reader_of(columns)
    return _PresentFieldsReader(tuple(columns), tuple(present), reader_of(present))


@dataclass(frozen=True, slots=True)
class _PresentFieldsReader:
    columns: tuple[MappedColumn, ...]
    present: tuple[MappedColumn, ...]
    reader: MessageReader

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns, null and missing without a field (see `MessageReader.read`)."""
        found = self.reader.read(payloads)
        arrays = dict(zip((c.name for c in self.present), found.arrays, strict=True))
        absent = [column for column in self.columns if column.name not in arrays]
        for column in absent:
            arrays[column.name] = pa.nulls(len(payloads), to_arrow_type(column.type))
        everywhere = pa.array(np.ones(len(payloads), bool))
        return ReadMessages(
            arrays=[arrays[column.name] for column in self.columns],
            faults=found.faults,
            with_undeclared=[],
            missing={
                **found.missing,
                **{column.name: everywhere for column in absent if column.finds_missing},
            },
        )

    def tree(self, payload: bytes) -> Any:
        """Return a row as a dict (see `MessageReader.tree`)."""
        return self.reader.tree(payload)
