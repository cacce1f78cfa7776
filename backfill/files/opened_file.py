"""Interface of an opened file of a backfill, the same for all file formats, and the rows that it yields."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader

ROWS_MAX: Final = 65_536
"""Largest number of rows that are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRows:
    """Rows of a file that come together.

    Attributes:
        first: Number of the first row.
        count: Number of rows, blank lines included.
        payloads: What the file's reader reads, one for each row that is not blank.
        numbers: The rows' numbers.
        done: The part of the file that is read then, from 0 to 1.
    """

    first: int
    count: int
    payloads: pa.BinaryArray
    numbers: npt.NDArray[np.int64]
    done: float


class OpenedFile(Protocol):
    """A file that is being read."""

    @property
    def has_field(self) -> Callable[[tuple[str, ...]], bool] | None:
        """Return whether the file has a field; None where each row has fields of its own."""
        ...

    def misfit(self, column: MappedColumn) -> str | None:
        """Return why no value of a column's field can fill it, such as `a text, not INT`; None if one can."""
        ...

    def reader_of(self, columns: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of columns from payloads."""
        ...

    def rows(self, skipped: int) -> Iterator[FileRows]:
        """Yield the rows, without the first `skipped` ones.

        Raises:
            InvalidRequest: The file is damaged.
            StorageUnavailable: Storage does not answer.
        """
        ...

    def shown(self, payload: bytes) -> dict[str, Any]:
        """Return the row of a payload among those that were read last, as values that `json_text` writes."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...
