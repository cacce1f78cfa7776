"""Columns in which a parser passes records to the sink: the same for every format of messages.

A parser returns one row per Kafka record:

    column                               value
    PARTITION, OFFSET, TIMESTAMP         those of the record in Kafka
    REASON                               why it is refused; null: it is accepted
    DETAIL                               subject of the reason, mostly a column; may be null
    RAW_KEY, RAW_VALUE, RAW_HEADERS      as in Kafka, headers as JSON; null where Python does not need them
    UNDECLARED                           boolean: the record may have a field that the stream does not declare
    INEXACT                              boolean: a text of the record may have lost digits of a number
    value_column(n)                      the n-th column of the stream's plan, as a Spark type

UNDECLARED and INEXACT exist only where the stream needs them.
"""

from typing import Final

PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"
TIMESTAMP: Final = "kafka_timestamp"
REASON: Final = "reason"
DETAIL: Final = "detail"
RAW_KEY: Final = "raw_key"
RAW_VALUE: Final = "raw_value"
RAW_HEADERS: Final = "raw_headers"
UNDECLARED: Final = "undeclared"
INEXACT: Final = "inexact"

UNPARSABLE: Final = "unparsable"
"""Reason of a value that is not of the declared format; the sink finds out what is wrong with it."""
PARTITION_TOO_LONG: Final = "partition_too_long"
"""Reason of a text that is too long to name a partition's directory; reported as `out_of_range`."""
KEY: Final = "key"
"""Detail of the reason `too_large`: the table's key is, and not the value as a whole."""


def value_column(index: int) -> str:
    """Return the name under which the stream's n-th column is passed to Python.

    This is not the column's own name, which could be one of the names above.
    """
    return f"value_{index}"
