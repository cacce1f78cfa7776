"""Given records of a test: the offsets and timestamps of those that do not say them, and the batches in which they are read.

Pure.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from braid.schemas import GivenRecord

FIRST_MS: Final = 1_767_225_600_000
"""The timestamp of a first record that does not say it: 2026-01-01T00:00:00Z."""
_STEP_MS: Final = 1_000


def placed_records(given: Sequence[GivenRecord]) -> list[GivenRecord]:
    """Return the records, each with its offset and its timestamp."""
    placed: list[GivenRecord] = []
    next_offset: dict[tuple[str, int], int] = {}
    next_ms = FIRST_MS
    for record in given:
        place = record.stream, record.partition
        offset, timestamp_ms = record.offset, record.timestamp_ms
        if offset is None:
            offset = next_offset.get(place, 0)
        if timestamp_ms is None:
            timestamp_ms = next_ms
        next_offset[place] = max(next_offset.get(place, 0), offset + 1)
        next_ms = timestamp_ms + _STEP_MS
        placed.append(record.model_copy(update={"offset": offset, "timestamp_ms": timestamp_ms}))
    return placed


def newest_ms(placed: Sequence[GivenRecord]) -> int:
    """Return the newest timestamp of placed records; without any, that of a first record."""
    return max((record.timestamp_ms or 0 for record in placed), default=FIRST_MS)


def batches_of(
    placed: Sequence[GivenRecord], *, are_single: bool
) -> Iterator[tuple[str, list[GivenRecord]]]:
    """Yield the records in batches of one stream each, in their order, with the name of the stream; `are_single`: one by one."""
    if are_single:
        yield from ((record.stream, [record]) for record in placed)
        return
    for stream, records in groupby(placed, key=lambda record: record.stream):
        yield stream, list(records)
