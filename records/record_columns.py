"""Names of the columns of Kafka records, which are those of Spark's source.

Streams, backfills, replays and trials make batches of these columns; no code here checks the types:

| column | Arrow type |
|---|---|
| KEY, VALUE | binary, null where the record has none |
| HEADERS | list of structs of `key`, a string, and `value`, binary; null or empty where the record has none |
| PARTITION | int32 |
| OFFSET | int64 |
| TIMESTAMP | timestamp[us, UTC]: the producer's or the broker's, as the topic is configured |

A record without a timestamp has NO_TIMESTAMP_US if it was read from Kafka, and null in replays and trials.
"""

from typing import Final

KEY: Final = "key"
VALUE: Final = "value"
HEADERS: Final = "headers"
PARTITION: Final = "partition"
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"

NO_TIMESTAMP_US: Final = -1_000
"""Kafka's -1 milliseconds: the record has no timestamp."""

RECORD_COLUMNS: Final = (KEY, VALUE, HEADERS, PARTITION, OFFSET, TIMESTAMP)
"""All of them, in the order in which they are passed."""
