"""Contracts for the offsets of a stream, at which it continues to read its topic, and for changes of these offsets."""

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from braid.schemas.contract import Contract, StrictBool, at_most
from braid.schemas.problem import FieldProblem

PARTITIONS_MAX: Final = 20_000
OFFSET_MAX: Final = 2**48 - 1

PartitionName: TypeAlias = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})$")]
"""Number of a Kafka partition, as a key of a JSON object."""
Offset: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=OFFSET_MAX)]


class OffsetsRequest(Contract):
    """The offsets at which a stopped stream is to continue.

    Attributes:
        offsets: Next offset to read, by Kafka partition; partitions that are left out stay where they are.
        beyond_end: Whether an offset may be above the topic's end as it was last measured. If the topic really
            ends before it, the stream fails when it starts, and its position can be set again.
    """

    offsets: Annotated[Mapping[PartitionName, Offset], at_most(PARTITIONS_MAX)] = Field(
        examples=[{"0": 1200, "1": 1180}]
    )
    beyond_end: StrictBool = False


class OffsetRange(Contract):
    """A range of the offsets of one partition.

    Attributes:
        start: The first offset.
        end: The offset after the last.
    """

    start: int
    end: int


class OffsetsMove(Contract):
    """A move of a stream's position to other offsets.

    Attributes:
        time: When it was committed, ISO 8601, UTC.
        cause: `requested`; `expired`: Kafka had deleted the records in between; or `generation`: a generation of the
            group began, in which the stream does not read them again.
        offsets: The offsets before (`start`) and after it (`end`), by Kafka partition.
    """

    time: str
    cause: str
    offsets: Mapping[int, OffsetRange]


class StreamOffsets(Contract):
    """The position of a stream in its topic, as its table has it. A field that is None is not known.

    Attributes:
        database: The table's database.
        table: The table's name.
        stream: The stream's name.
        topic: The Kafka topic of the offsets.
        topic_id: Kafka's id of that topic.
        epoch: Number of the claim, fence or move that the offsets belong to.
        generation: Generation in which the stream's group was written last.
        offsets: Next offset to read, by Kafka partition; empty before the stream's first start.
        beginning_offsets: First offsets that Kafka had when the stream last started; they may have risen since.
        end_offsets: The topic's end as last measured by a running query of the stream.
        measured_at: Time of that measurement, ISO 8601, UTC.
        skipped: Ranges that the stream has never read because its position was moved over them.
        read_again: Ranges that it has read more than once; the account counts their records each time.
        moves: The newest moves, oldest first, from which both are derived.
    """

    database: str
    table: str
    stream: str
    topic: str | None = None
    topic_id: str | None = None
    epoch: int | None = None
    generation: int | None = None
    offsets: Mapping[int, int] = Field(default_factory=dict)
    beginning_offsets: Mapping[int, int] | None = None
    end_offsets: Mapping[int, int] | None = None
    measured_at: str | None = None
    skipped: Mapping[int, tuple[OffsetRange, ...]] = Field(default_factory=dict)
    read_again: Mapping[int, tuple[OffsetRange, ...]] = Field(default_factory=dict)
    moves: tuple[OffsetsMove, ...] = ()


class PartitionChange(Contract):
    """The effect of a move on one partition. Counts are offsets: a topic may have fewer records.

    Attributes:
        before: Next offset to read so far.
        after: Next offset to read after the move.
        read_again: Offsets that the stream has read already and reads once more.
        read_late: Offsets that an earlier move had skipped and that are read after all.
        skipped: Offsets that are not read at all.
    """

    before: int
    after: int
    read_again: int
    read_late: int
    skipped: int


class OffsetsValidation(Contract):
    """The result of a dry run of a move.

    Attributes:
        valid: Whether the request would be accepted.
        partitions: The effect by Kafka partition, for those that move.
        errors: All problems of the request.
    """

    valid: bool
    partitions: Mapping[int, PartitionChange]
    errors: tuple[FieldProblem, ...]


class OffsetsChanged(StreamOffsets):
    """The offsets of a stream after a move, and its effect.

    Attributes:
        partitions: The effect by Kafka partition, for those that moved; empty: nothing was to be moved.
    """

    partitions: Mapping[int, PartitionChange] = Field(default_factory=dict)
