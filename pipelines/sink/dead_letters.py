"""Dead letters of refused records, made from the records as they came from Kafka."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from braid.formats.dead_letter import DeadLetter
from braid.formats.fault import Fault
from braid.formats.unpaired_surrogates import with_escaped_surrogates
from braid.lake import LetterAttempt
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOrigin:
    """What the dead letters of an attempt at a micro-batch have in common.

    Attributes:
        topic: The topic of the records.
        topic_id: Kafka's id of the topic; empty when it is not known.
        generation: Generation of the order of the stream's group since the claim.
        attempt: The attempt.
    """

    topic: str
    topic_id: str
    generation: int
    attempt: LetterAttempt


def dead_letters(
    records: pa.RecordBatch, faults: Sequence[Fault], *, origin: LetterOrigin
) -> list[DeadLetter]:
    """Return the dead letters of refused records, one each.

    Args:
        records: The records (`record_columns`).
        faults: Why each is refused.
        origin: Where they come from.
    """
    assert len(faults) == records.num_rows, "each refused record has a fault"
    columns = [KEY, VALUE, HEADERS, PARTITION, OFFSET]
    # As numbers: Python's times end with the year 9999, and producers may send any.
    times_us = records.column(TIMESTAMP).cast(pa.int64()).to_pylist()
    rows = records.select(columns).to_pylist()
    return [
        DeadLetter(
            topic=origin.topic,
            topic_id=origin.topic_id,
            generation=origin.generation,
            timestamp_ms=None if time_us is None else time_us // 1_000,
            attempt=origin.attempt,
            partition=record[PARTITION],
            offset=record[OFFSET],
            reason=fault.reason,
            # Names of fields, like values, may have unpaired surrogates.
            message=with_escaped_surrogates(fault.message),
            key=record[KEY],
            value=record[VALUE],
            headers=_headers(record[HEADERS]),
        )
        for record, fault, time_us in zip(rows, faults, times_us, strict=True)
    ]


def _headers(headers: Sequence[Any] | None) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((header["key"], header["value"]) for header in headers or ())
