"""The declaration of a stream: one topic that feeds a set of columns of one table."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from schemas.contract import Contract, PositiveInt


class StreamFormat(StrEnum):
    """How a message's value is written."""

    JSON = "json"


class StartingOffsets(StrEnum):
    """Where a stream starts that has no position in the table yet."""

    EARLIEST = "earliest"
    LATEST = "latest"


class OnNullOrdering(StrEnum):
    """What becomes of a record whose ordering columns are all null."""

    DEAD_LETTER = "dead_letter"
    CLEAR = "clear"


class OnNewField(StrEnum):
    """What becomes of a record with fields that no column of its stream is read from.

    `ignore` leaves the fields out. `reject` makes the record a dead letter. `evolve` gives the table
    a column for each of them, which the stream owns, and reads it from then on.
    """

    IGNORE = "ignore"
    REJECT = "reject"
    EVOLVE = "evolve"


class StreamColumn(Contract):
    """Where a column's value is found in a message.

    Attributes:
        column: A column of the table.
        path: Field names from the message's root, joined by dots; the column's name if None.
    """

    column: str = Field(min_length=1)
    path: str | None = Field(default=None, min_length=1)

    @property
    def source_path(self) -> tuple[str, ...]:
        """The field names from the message's root to the value."""
        return tuple((self.path or self.column).split("."))


class KafkaSpec(Contract):
    """Where the topic is.

    Attributes:
        cluster: The name of a cluster in the operators' file; None: their cluster `default`.
        bootstrap_servers: `host:port[,host:port]` instead of a name; only where the operators'
            file allows addresses.
        options: Consumer options that the operators leave to streams, by Kafka's own names.
    """

    cluster: str | None = Field(default=None, min_length=1, examples=["shop"])
    bootstrap_servers: str | None = Field(default=None, min_length=1)
    options: Mapping[str, str] = Field(default_factory=dict)


class StreamDefinition(Contract):
    """A stream as its owner declares it; what is left out is filled in at registration.

    Attributes:
        name: The last part of the address; may be left out.
        topic: The Kafka topic.
        format: How values are written.
        columns: What the stream writes; empty: the key, and the whole of its group, each column from
            the field of its name, or from where the registered stream reads it already.
        sequence_group: The group it owns; None: the group of its own name.
        starting_offsets: Where it starts when the table knows no position of it.
        dead_letter_topic: Where refused records go; None: `<topic>.dead-letters`.
        on_null_ordering: What becomes of records whose ordering columns are all null.
        on_new_field: What becomes of records with fields that are not mapped.
        columns_max: With `evolve`: the stream never gets more columns than that; what would need
            one more is a dead letter.
        max_message_bytes: Longer values are dead letters.
        kafka: On which cluster the topic is.
        trigger_ms: The wanted time between the starts of two micro-batches.
        max_records_per_batch: The bound of one micro-batch.
    """

    name: str | None = None
    topic: str = Field(min_length=1, max_length=249, examples=["departures"])
    format: StreamFormat = StreamFormat.JSON
    columns: tuple[StreamColumn, ...] = ()
    sequence_group: str | None = Field(default=None, min_length=1)
    starting_offsets: StartingOffsets = StartingOffsets.EARLIEST
    dead_letter_topic: str | None = Field(default=None, min_length=1, max_length=249)
    on_null_ordering: OnNullOrdering = OnNullOrdering.DEAD_LETTER
    on_new_field: OnNewField = OnNewField.IGNORE
    columns_max: PositiveInt = 200
    max_message_bytes: PositiveInt = 1 << 20
    kafka: KafkaSpec = Field(default_factory=KafkaSpec)
    trigger_ms: PositiveInt = 5_000
    max_records_per_batch: PositiveInt = 500_000


class StreamSpec(StreamDefinition):
    """A registered stream: a definition with everything filled in.

    `columns` is not empty; `sequence_group` is None only where the stream owns no group: on a
    table without groups, or when it writes unordered columns alone.
    """

    name: str = Field(min_length=1)
    columns: tuple[StreamColumn, ...] = Field(min_length=1)
    dead_letter_topic: str = Field(min_length=1, max_length=249)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns it reads from messages, without the generated ones."""
        return tuple(mapping.column for mapping in self.columns)
