"""The reader of ORC data files.

Files are decoded by Arrow, which does not expose the number of rows of a stripe before it is read. So a file is
one part. Trailing blanks of CHAR values are stripped (`chars`).

Source: table-format 12.
"""

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
from pyarrow import orc

from braid.lake.errors import UnsupportedFeature
from braid.lake.files.format_reader import SinglePartReader
from braid.lake.files.orc.chars import holds_chars, without_padding
from braid.lake.files.storage.positioned_input import InputFile
from braid.lake.format.data_types import DataType
from braid.lake.format.schema import TableSchema

# Part of a message of Arrow, by which alone this cause is recognised.
_BEYOND_NANOSECONDS = "out of range for nanosecond"


class OrcFormatReader(SinglePartReader):
    """An ORC file (see `FormatReader`)."""

    def __init__(self, source: InputFile, path: str, written: TableSchema) -> None:
        """Read the footer.

        Args:
            source: The file.
            path: Path of the file, for messages.
            written: The schema that the file was written under.
        """
        self._file = orc.ORCFile(source)
        self._path = path
        self._chars = {
            field.name: field.type for field in written.fields if holds_chars(field.type)
        }

    @property
    def is_columnar(self) -> bool:
        """True: a stripe has separate streams for each column."""
        return True

    @property
    def row_counts(self) -> Sequence[int]:
        """Rows of the file."""
        return [self._file.nrows]

    @property
    def column_names(self) -> Collection[str]:
        """Names of the columns."""
        return frozenset(self._file.schema.names)

    def batches(
        self,
        parts: Sequence[int],
        columns: Sequence[pa.Field],
        *,
        batch_rows: int,
        batch_bytes: int,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows; memory holds one stripe at a time.

        Raises:
            UnsupportedFeature: 64 bits of nanoseconds cannot hold a time.
        """
        del parts
        names = [column.name for column in columns]
        for number in range(self._file.nstripes):
            stripe = _without_padding(self._stripe(number, names), self._chars)
            rows = min(batch_rows, max(1, batch_bytes * len(stripe) // max(1, stripe.nbytes)))
            for start in range(0, len(stripe), rows):
                yield stripe.slice(start, rows)

    def _stripe(self, number: int, names: Sequence[str]) -> pa.RecordBatch:
        try:
            return self._file.read_stripe(number, columns=names)
        except pa.ArrowInvalid as error:
            if _BEYOND_NANOSECONDS not in str(error):
                raise
            message = (
                f"data file {self._path} has a time outside the years 1677 to 2262, which Arrow "
                f"cannot read from an ORC file: {error}"
            )
            raise UnsupportedFeature(message) from error


def _without_padding(stripe: pa.RecordBatch, chars: dict[str, DataType]) -> pa.RecordBatch:
    if chars.keys().isdisjoint(stripe.schema.names):
        return stripe
    arrays = [
        without_padding(array, chars[name]) if name in chars else array
        for name, array in zip(stripe.schema.names, stripe.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=stripe.schema.names)
