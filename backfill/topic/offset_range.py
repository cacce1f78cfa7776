"""Ranges of offsets by partition: parsed from the command line, and checked against the offsets of a topic. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from braid.lake import InvalidRequest, Problem

_PART: Final = re.compile(r"([0-9]{1,9}):([0-9]{1,15})")
_MESSAGE: Final = "the range of the topic cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRange:
    """A range of a topic.

    Attributes:
        topic: The topic.
        start: First offset, by partition.
        end: Offset after the last, for the same partitions.
    """

    topic: str
    start: Mapping[int, int]
    end: Mapping[int, int]


def parse_partition_offsets(option: str, text: str) -> dict[int, int]:
    """Return offsets by partition.

    Args:
        option: The option, for error messages.
        text: Its value.

    Raises:
        InvalidRequest: It is not `partition:offset,…`, or a partition is there twice.

    Example:
        >>> parse_partition_offsets("--to-offsets", "0:100, 1:57")
        {0: 100, 1: 57}
    """
    found: dict[int, int] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None or int(match[1]) in found:
            problem = Problem(
                field=option,
                value=part.strip(),
                message="expected partition:offset, each partition once",
                hint="write 0:100,1:57",
            )
            raise InvalidRequest(_MESSAGE, problems=[problem])
        found[int(match[1])] = int(match[2])
    return found


def check_range(
    start: Mapping[int, int],
    end: Mapping[int, int],
    *,
    next_offsets: Mapping[int, int],
    earliest: Mapping[int, int],
    latest: Mapping[int, int],
) -> None:
    """Refuse a range that a topic does not have.

    Args:
        start: First offsets.
        end: Offsets after the last.
        next_offsets: The offsets that are read next, which may be above the first ones.
        earliest: First offset that the topic has, by partition.
        latest: Offset after its last record, by partition.

    Raises:
        InvalidRequest: A partition or an offset is not there, or the ranges do not fit each other.
    """
    has = ", ".join(f"{part}: {earliest[part]} to {latest[part]}" for part in sorted(earliest))
    problems = [
        Problem(
            field="--from-offsets",
            value=str(partition),
            message="each partition needs an offset in --from-offsets and one in --to-offsets that is not smaller",
            hint="write for example --from-offsets 0:0 --to-offsets 0:100",
        )
        for partition in sorted({*start, *end})
        if partition not in start or partition not in end or start[partition] > end[partition]
    ]
    problems += [
        Problem(
            field="--to-offsets" if partition in latest else "--from-offsets",
            value=f"{partition}:{end[partition]}",
            message=f"the topic does not have the offsets from {next_offset} to {end[partition]} of "
            f"partition {partition}",
            hint=f"offsets that the topic has (partition: first to end): {has}",
        )
        for partition, next_offset in sorted(next_offsets.items())
        if next_offset < end.get(partition, 0)
        and not (
            partition in earliest
            and earliest[partition] <= next_offset
            and end[partition] <= latest[partition]
        )
    ]
    if problems:
        raise InvalidRequest(_MESSAGE, problems=problems)
