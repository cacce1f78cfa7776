"""The declaration of a stream: one topic that feeds a set of columns of one table."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from schemas.contract import COLUMNS_MAX, OPTIONS_MAX, Contract, PositiveInt, StrictBool, at_most


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


class OnPartitionsAdded(StrEnum):
    """What a stream does whose records arrival alone orders, when its topic gets more partitions.

    Keys move then to other partitions, whose offsets do not compare with those of the old ones.
    `stop` ends the stream with the reason. `continue` reads the known partitions up to where they
    end after `partitions_settle`, and the others only then, above all that was read before.
    """

    STOP = "stop"
    CONTINUE = "continue"


class ColumnSource(StrEnum):
    """The part of a record that a column is read from."""

    VALUE = "value"
    KEY = "key"


class StreamColumn(Contract):
    """Where a column's value is found in a record.

    Attributes:
        column: A column of the table.
        path: Field names from the root of the message, joined by dots. None: the column's name; of
            a column that is read from the Kafka key, the key as a whole.
        source: The record's value, or its Kafka key: text, or a JSON object if there is a path.
            Columns of the primary key alone are read from the key.
    """

    column: str = Field(min_length=1)
    path: str | None = Field(default=None, min_length=1)
    source: ColumnSource = ColumnSource.VALUE

    @property
    def source_path(self) -> tuple[str, ...]:
        """The field names from the root to the value; none for the key as a whole."""
        if self.path is None:
            return () if self.source is ColumnSource.KEY else (self.column,)
        return tuple(self.path.split("."))


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
    options: Annotated[Mapping[str, str], at_most(OPTIONS_MAX)] = Field(default_factory=dict)


class StreamDefinition(Contract):
    """A stream as its owner declares it; what is left out is filled in at registration.

    Attributes:
        name: The last part of the address; may be left out.
        topic: The Kafka topic.
        format: How values are written.
        columns: What the stream writes; empty: the key, and the whole of its group, each column from
            the field of its name, or from where the registered stream reads it already.
        sequence_group: The group it owns; None: the group of its own name.
        starting_offsets: Where it starts when the table knows no position of it, or one that leads
            elsewhere (a former stream's of its name).
        dead_letter_topic: Where refused records go; None: `<topic>.dead-letters`.
        on_null_ordering: What becomes of records whose ordering columns are all null.
        on_new_field: What becomes of records with fields that are not mapped.
        columns_max: With `evolve`: the stream never gets more columns than that; what would need
            one more is a dead letter.
        max_message_bytes: Longer values are dead letters.
        partitioned_by_key: Whether producers put all records of a row into one partition although
            the row's key is not read from the Kafka key. A stream that arrival alone orders needs
            one or the other where its topic has several partitions.
        on_partitions_added: What such a stream does when the topic gets more partitions.
        partitions_settle: With `continue`: how long producers may take to learn of new partitions,
            as `6 min`; above their `metadata.max.age.ms`, which is 5 minutes unless set.
        kafka: On which cluster the topic is.
        trigger_ms: The wanted time between the starts of two micro-batches.
        max_records_per_batch: The bound of one micro-batch.
    """

    name: str | None = None
    topic: str = Field(min_length=1, max_length=249, examples=["departures"])
    format: StreamFormat = StreamFormat.JSON
    columns: Annotated[tuple[StreamColumn, ...], at_most(COLUMNS_MAX)] = ()
    sequence_group: str | None = Field(default=None, min_length=1)
    starting_offsets: StartingOffsets = StartingOffsets.EARLIEST
    dead_letter_topic: str | None = Field(default=None, min_length=1, max_length=249)
    on_null_ordering: OnNullOrdering = OnNullOrdering.DEAD_LETTER
    on_new_field: OnNewField = OnNewField.IGNORE
    columns_max: PositiveInt = 200
    max_message_bytes: PositiveInt = 1 << 20
    partitioned_by_key: StrictBool = False
    on_partitions_added: OnPartitionsAdded = OnPartitionsAdded.STOP
    partitions_settle: str = Field(default="6 min", min_length=1, max_length=40)
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
