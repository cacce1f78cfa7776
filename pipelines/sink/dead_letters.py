"""Dead letters of refused records, made from the records as they came from Kafka."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from braid.formats.dead_letter import DeadLetter
from braid.formats.fault import Fault
from braid.formats.unpaired_surrogates import with_escaped_surrogates
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, VALUE


def dead_letters(
    records: pa.RecordBatch, faults: Sequence[Fault], *, topic: str
) -> list[DeadLetter]:
    """Return the dead letters of refused records, one each.

    Args:
        records: The records (`record_columns`).
        faults: Why each is refused.
        topic: The topic of the records.
    """
    assert len(faults) == records.num_rows, "each refused record has a fault"
    columns = [KEY, VALUE, HEADERS, PARTITION, OFFSET]
    return [
        DeadLetter(
            topic=topic,
            partition=record[PARTITION],
            offset=record[OFFSET],
            reason=fault.reason,
            # Names of fields, like values, may have unpaired surrogates.
            message=with_escaped_surrogates(fault.message),
            key=record[KEY],
            value=record[VALUE],
            headers=_headers(record[HEADERS]),
        )
        for record, fault in zip(records.select(columns).to_pylist(), faults, strict=True)
    ]


def _headers(headers: Sequence[Any] | None) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((header["key"], header["value"]) for header in headers or ())
