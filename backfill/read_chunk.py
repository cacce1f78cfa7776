"""Interface of a backfill's source, which files and topics implement, and the chunks and parts that a source yields."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from braid.records.record_reader import ReadRecords
from braid.records.stream_plan import StreamPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChunk:
    """Some records of a source, read.

    Attributes:
        plan: The plan by which they were read.
        found: Their columns and faults; None where there are none, but the position advances.
        records: Their number, those that the stream leaves out and blank lines included.
        end: The offsets that are read next, by partition.
        done: The part of the source that is read then, from 0 to 1.
    """

    plan: StreamPlan
    found: ReadRecords | None
    records: int
    end: Mapping[int, int]
    done: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBound:
    """What a part of a source has, if the source has that much left.

    Attributes:
        bytes: Size of its files at least; no file is divided.
        records: Offsets of a topic at most.
    """

    bytes: int = 64 << 20
    records: int = 1_000_000


class PartOpener(Protocol):
    """Opens a part of a source; can be pickled to another process."""

    def __call__(self, *, tell: Callable[[str], None]) -> "Source":
        """Return the part as a source that ends where the part ends.

        Args:
            tell: Takes a notice for people.

        Raises:
            InvalidRequest: It cannot be read.
            StorageUnavailable: The source does not answer.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePart:
    """A part of a source, which one task reads where others do the work of a backfill.

    Attributes:
        open: Opens it.
        start: The offsets of its first records, by partition.
        end: The offsets after its last records, for the same partitions.
        done: The part of the whole source that is read after it, from 0 to 1.
    """

    open: PartOpener
    start: Mapping[int, int]
    end: Mapping[int, int]
    done: float


class Source(Protocol):
    """Where a backfill reads."""

    @property
    def name(self) -> str:
        """What it is, in words."""
        ...

    @property
    def digest(self) -> str:
        """What tells it from every other source, and from another reading of the same one."""
        ...

    @property
    def start(self) -> Mapping[int, int]:
        """The offsets of its first records, by partition."""
        ...

    @property
    def end(self) -> Mapping[int, int]:
        """The offsets after its last records, by partition."""
        ...

    def chunks(self, offsets: Mapping[int, int]) -> Iterator[ReadChunk]:
        """Yield the records from some offsets on, in their order.

        Raises:
            InvalidRequest: A part of the source cannot be read.
            LimitExceeded: A file has more rows than positions can name.
            StorageUnavailable: The source does not answer.
        """
        ...

    def parts(self, offsets: Mapping[int, int], bound: PartBound) -> Iterator[SourcePart]:
        """Yield what is left from some offsets on as parts.

        Of two rows that their order decides between, the later one is in the same part, or in a later one.
        """
        ...

    def described(self, records: pa.RecordBatch, row: int) -> dict[str, Any]:
        """Return a record with its place, for the file of refused records: values that `json_text` writes.

        Args:
            records: The records of the chunk that was yielded last, or some of them.
            row: The row among them.
        """
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
