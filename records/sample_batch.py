"""Sample records, as a declaration or a request gives them, as a batch of Kafka records."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.schemas import SampleRecord

PLACE: Final = "place among the samples"
_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def sample_batch(samples: Sequence[SampleRecord]) -> pa.RecordBatch:
    """Return samples as Kafka records (`record_columns`), with their places in the column `PLACE`.

    The offset of a sample without one is its place.
    """
    headers = [
        [{"key": name, "value": text.encode()} for name, text in one.headers.items()] or None
        for one in samples
    ]
    offsets = [place if one.offset is None else one.offset for place, one in enumerate(samples)]
    timestamps = pa.array([one.timestamp_ms or 0 for one in samples], pa.int64())
    in_utc = timestamps.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))
    return pa.RecordBatch.from_pydict(
        {
            KEY: pa.array([one.key_bytes for one in samples], pa.binary()),
            VALUE: pa.array([one.value_bytes for one in samples], pa.binary()),
            HEADERS: pa.array(headers, _HEADERS),
            PARTITION: pa.array([one.partition for one in samples], pa.int32()),
            OFFSET: pa.array(offsets, pa.int64()),
            TIMESTAMP: in_utc,
            PLACE: pa.array(range(len(samples)), pa.int32()),
        }
    )
