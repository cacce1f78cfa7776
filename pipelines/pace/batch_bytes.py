"""Bound of a micro-batch in bytes, expressed as a bound in records. Pure: no clock, thread or table.

Spark's source plans a micro-batch by offsets and learns sizes only when the records are read. So the declared number of
records is halved until records of the mean size of the newest micro-batches fit the bytes:

    records of the mean size              the declared number of records is
    are more than the bytes               halved, as often as needed, from the next micro-batch on
    fit with 1.25 times the mean size     doubled, as far as they fit
    in between                            kept

A change restarts Spark's query, so powers of two and the margin of 1.25 make changes rare. While the mean size stays
the same, a full micro-batch with a halved number has between 0.4 and 1 times the declared bytes. If the mean grows by
some factor from one micro-batch to the next, that micro-batch exceeds the bytes by at most this factor. The
micro-batches after it may also exceed the bytes, by less than twice, because older micro-batches count in the mean. The
first micro-batch is planned as if every record had the largest size that the stream admits.

Back-pressure multiplies the number of records, and with it the bytes (`back_pressure`). One record of each partition is
always read, however large it is.
"""

from dataclasses import dataclass
from typing import Final

_RAISE_ROOM: Final = 1.25
# The share of older micro-batches in the mean halves with each new one.
_OLD_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class RecordSizes:
    """Sizes of the records of the newest micro-batches, the older ones with less weight.

    Attributes:
        records: Weighted number of records.
        size: Weighted sum of their sizes, bytes.
    """

    records: float = 0.0
    size: float = 0.0

    @property
    def mean(self) -> float | None:
        """The mean size of a record, bytes; None before the first record."""
        return self.size / self.records if self.records else None

    def after(self, records: int, size: int) -> "RecordSizes":
        """Return the sizes after one more micro-batch; one without records changes nothing.

        Args:
            records: Its number of records.
            size: The sum of their sizes, bytes.
        """
        if not records:
            return self
        return RecordSizes(self.records * _OLD_SHARE + records, self.size * _OLD_SHARE + size)


NO_SIZES: Final = RecordSizes()
"""The sizes before the first micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesRule:
    """What a stream declares about the size of its micro-batches.

    Attributes:
        records_max: The largest number of records.
        bytes_max: The largest size, bytes.
        message_bytes_max: The largest size of a message that the stream admits, bytes.
    """

    records_max: int
    bytes_max: int
    message_bytes_max: int

    def first(self) -> int:
        """Return how often the number of records is halved for the first micro-batch."""
        return self._needed(self.message_bytes_max)

    def next(self, halvings: int, sizes: RecordSizes) -> int:
        """Return how often the number of records is halved from now on.

        Args:
            halvings: How often it was halved so far.
            sizes: The sizes of records, the newest micro-batch included.

        Example:
            >>> rule = BytesRule(records_max=1_000, bytes_max=100_000, message_bytes_max=1_000)
            >>> [rule.next(3, RecordSizes(1, size)) for size in (70, 90, 390, 450, 900)]
            [0, 1, 3, 3, 4]
        """
        mean = sizes.mean
        if mean is None:
            return halvings
        needed = self._needed(mean)
        if needed > halvings:
            return needed
        return min(halvings, self._needed(mean * _RAISE_ROOM))

    def _needed(self, record_bytes: float) -> int:
        halvings = 0
        while (
            records := self.records_max >> halvings
        ) > 1 and records * record_bytes > self.bytes_max:
            halvings += 1
        return halvings
