"""Faults of records: the reason why a stream refuses a record, with the explanation for the dead letter; and the faults of a batch."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.formats.dead_letter import DeadLetterReason


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a record is refused.

    Attributes:
        reason: The reason, by which dead letters are counted.
        message: The reason in words: which column, what was found, what was expected.
    """

    reason: DeadLetterReason
    message: str


def malformed(message: str) -> Fault:
    """Return the fault of a record that is no message of its format."""
    return Fault(DeadLetterReason.MALFORMED, message)


def not_utf8(error: UnicodeDecodeError) -> Fault:
    """Return the fault of a record whose text is not UTF-8."""
    return malformed(f"not UTF-8: {error.reason} at byte {error.start}")


class Faults:
    """The faults of a batch's records, by row; of a record with several faults the first one found."""

    def __init__(self, rows: int) -> None:
        """Begin without a fault.

        Args:
            rows: The number of records in the batch.
        """
        self._count = rows
        self._by_row: dict[int, Fault] = {}

    def __len__(self) -> int:
        """Return the number of records with a fault."""
        return len(self._by_row)

    def __contains__(self, row: int) -> bool:
        """Return whether a record has a fault."""
        return row in self._by_row

    def __getitem__(self, row: int) -> Fault:
        """Return the fault of a record that has one."""
        return self._by_row[row]

    def add(self, row: int, fault: Fault) -> None:
        """Note a fault, unless one has been found in the record before."""
        self._by_row.setdefault(row, fault)

    def add_all(self, rows: Iterable[int], fault: Fault) -> None:
        """Note the same fault of several records."""
        for row in rows:
            self.add(row, fault)

    def add_found(self, found: "Faults") -> None:
        """Note the faults that another reader has found in the same records."""
        for row in found.rows:
            self.add(row, found[row])

    def remove(self, row: int) -> None:
        """Forget the fault of a record: what reads it next decides anew."""
        del self._by_row[row]

    @property
    def is_faulty(self) -> npt.NDArray[np.bool_]:
        """Whether each record has a fault, in the order of the records."""
        mask = np.zeros(self._count, dtype=bool)
        mask[list(self._by_row)] = True
        return mask

    @property
    def rows(self) -> list[int]:
        """The rows that have a fault, ascending."""
        return sorted(self._by_row)
