"""Columns of Kafka records as Spark's source names them, which the tasks of a stream receive.

| column | Arrow type |
|---|---|
| KEY, VALUE | binary, null where the record has none |
| HEADERS | list of structs of `key`, a string, and `value`, binary; null or empty where the record has none |
| PARTITION | int32 |
| OFFSET | int64 |
| TIMESTAMP | timestamp[us, UTC]: the producer's or the broker's, as the topic is configured; NO_TIMESTAMP_US: none |
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
