"""Declaration of a stream, as requested and as registered: one topic that feeds a set of columns of one table.

The formats of its messages are in `message_format`, its triggers in `trigger`, its desired state in `document`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from braid.schemas.contract import (
    COLUMNS_MAX,
    OPTIONS_MAX,
    Contract,
    Labels,
    NonNegativeInt,
    Owner,
    PositiveInt,
    Scalar,
    StrictBool,
    at_most,
)
from braid.schemas.field_texts import describe_fields
from braid.schemas.message_format import (
    JsonFormat,
    KeyFormat,
    MessageFormat,
    captures_changes,
    schema_registry_of,
)
from braid.schemas.table import TYPE_LENGTH_MAX
from braid.schemas.trigger import AvailableNowTrigger, IntervalTrigger, Trigger

CONDITION_LENGTH_MAX: Final = 2_000  # characters
TIME_FORMAT_LENGTH_MAX: Final = 100  # characters
EXPRESSION_LENGTH_MAX: Final = 2_000  # characters
NULL_VALUE: Final = "null_value"
"""The type of the error of a `constant` or `default` that is null."""
TRIGGER_MS: Final = 5_000

TypeText: TypeAlias = Annotated[str, Field(min_length=1, max_length=TYPE_LENGTH_MAX)]

ConditionText: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=CONDITION_LENGTH_MAX, examples=["op = 'd'"])
]
"""Comparisons of fields of a message, or of other parts of a record, with values, joined by AND:
`header(type) = 'order' AND payload.version >= 2`."""


SPARK_TOPIC: Final = "(spark)"
"""Stand-in for the topic of a stream that Spark feeds; no Kafka topic can have this name."""


class StreamSource(StrEnum):
    """Where the records of a stream come from.

    `kafka` is a topic that a runner reads. `spark` are rows that a Spark program writes with the format `braid`; no
    runner hosts such a stream.
    """

    KAFKA = "kafka"
    SPARK = "spark"


class StartingOffsets(StrEnum):
    """The start of a stream that has no position in the table yet."""

    EARLIEST = "earliest"
    LATEST = "latest"


class OnNullOrdering(StrEnum):
    """The treatment of a record whose ordering columns are all null."""

    DEAD_LETTER = "dead_letter"
    CLEAR = "clear"


class OnNewField(StrEnum):
    """The treatment of a record with fields from which no column of its stream is read.

    `ignore` leaves the fields out. `reject` makes the record a dead letter. `evolve` adds a column for
    each field to the table; the stream owns the column and reads it from then on.
    """

    IGNORE = "ignore"
    REJECT = "reject"
    EVOLVE = "evolve"


class OnDelete(StrEnum):
    """The treatment of a record that is a delete.

    `ignore` leaves the record out. `clear_columns` sets the columns of the stream's sequence group to null, and
    `remove_row` removes the row; the table has to declare the same effect. `dead_letter` refuses the record.
    """

    IGNORE = "ignore"
    CLEAR_COLUMNS = "clear_columns"
    REMOVE_ROW = "remove_row"
    DEAD_LETTER = "dead_letter"

    @property
    def deletes(self) -> bool:
        """Whether the record is written as a delete."""
        return self in (OnDelete.CLEAR_COLUMNS, OnDelete.REMOVE_ROW)


class OnPartitionsAdded(StrEnum):
    """The effect of added partitions on a stream whose records are ordered by arrival alone.

    Keys then move to other partitions, whose offsets cannot be compared with those of the old ones.
    `stop` stops the stream and reports the reason. `continue` reads the known partitions up to the ends that
    they have once `partitions_settle` is over, and only then all partitions, as newer than all earlier records.
    """

    STOP = "stop"
    CONTINUE = "continue"


class OnMissing(StrEnum):
    """The treatment of a record that does not have the field of a column; a field with null is there.

    `null` reads the field as null. `reject` makes the record a dead letter. `keep` leaves the column's older value
    in the row, in columns that the table declares in `keep` of their sequence group.
    """

    NULL = "null"
    REJECT = "reject"
    KEEP = "keep"


class OnOffsetsExpired(StrEnum):
    """The effect on a stream when Kafka has deleted records that it has not read yet.

    `fail` stops the stream and reports the reason. `skip` continues with the oldest records that are left; the
    position of the stream names the range that is missing.
    """

    FAIL = "fail"
    SKIP = "skip"


class ColumnSource(StrEnum):
    """The part of a record that a column is read from.

    `value` and `key` are messages; an `expression` is computed from fields of the value. The others are known of
    every record, whatever its value is: a header, the time that the producer or the broker gave it, its place in
    Kafka, and a `constant`. `change` is a field of the event around a captured row, and `change_position` its place
    in the database's log, as bytes that compare.
    """

    VALUE = "value"
    KEY = "key"
    HEADER = "header"
    TIMESTAMP = "timestamp"
    PARTITION = "partition"
    OFFSET = "offset"
    TOPIC = "topic"
    CHANGE = "change"
    CHANGE_POSITION = "change_position"
    CONSTANT = "constant"
    EXPRESSION = "expression"

    @property
    def is_of_change(self) -> bool:
        """Whether a column is read from the event around a captured row."""
        return self in (ColumnSource.CHANGE, ColumnSource.CHANGE_POSITION)

    @property
    def is_message(self) -> bool:
        """Whether a column is read from the record's value or its Kafka key."""
        return self in (ColumnSource.VALUE, ColumnSource.KEY, ColumnSource.EXPRESSION)

    @property
    def is_in_value(self) -> bool:
        """Whether a column is read from the record's value, which a tombstone does not have."""
        return self in (ColumnSource.VALUE, ColumnSource.EXPRESSION)

    @property
    def has_fields(self) -> bool:
        """Whether a column is read from a field, by its path."""
        return self in (ColumnSource.VALUE, ColumnSource.KEY, ColumnSource.CHANGE)

    @property
    def has_names(self) -> bool:
        """Whether a column without a path is read from what has the column's name in this part."""
        return self in (ColumnSource.VALUE, ColumnSource.HEADER, ColumnSource.CHANGE)


class StreamColumn(Contract):
    """The source of a column's value in a record.

    Attributes:
        column: A column of the table.
        path: Field names from the root of the message, joined by dots; for a header its name. None: the
            column's name; for a column that is read from the Kafka key, the key as a whole.
        source: The part of the record, as `ColumnSource` lists them. Only columns of the primary key are read from
            the Kafka key: text, or a JSON object if there is a path. Of captured changes, the value is the row. Left
            out: `expression` or `constant` where the column has one, else `value`.
        on_missing: The treatment of records without the field; None: `keep` if the column's sequence group
            keeps it, else `null`.
        time_format: The form of a DATE, TIME or TIMESTAMP: `iso`; `epoch_s`, `epoch_ms`, `epoch_us`,
            `epoch_ns` or `epoch_days` for a number since the epoch; or a pattern such as
            `dd.MM.yyyy HH:mm:ss`. None: `iso`, and the dates and times that the message format has.
        time_zone: The zone of times that are written without one, by its IANA name; None: UTC.
        expression: A scalar SQL expression over fields of the value, such as `payload.price * 100`; the
            column is computed by it. None: the column is read.
        constant: The value of the column in every record; None: the column is read.
        default: The value of the column where a message does not have its field, or none of the fields of
            its expression; a field with null is null. None: null, or what `on_missing` says.
    """

    column: str = Field(min_length=1)
    path: str | None = Field(default=None, min_length=1)
    source: ColumnSource = ColumnSource.VALUE
    on_missing: OnMissing | None = None
    time_format: str | None = Field(
        default=None, min_length=1, max_length=TIME_FORMAT_LENGTH_MAX, examples=["epoch_ms"]
    )
    time_zone: str | None = Field(
        default=None, min_length=1, max_length=TIME_FORMAT_LENGTH_MAX, examples=["Europe/Berlin"]
    )
    expression: str | None = Field(
        default=None,
        min_length=1,
        max_length=EXPRESSION_LENGTH_MAX,
        examples=["payload.price * 100"],
    )
    constant: Scalar | None = None
    default: Scalar | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_source(cls, values: Any) -> Any:
        """Fill in the source of a column that is computed or the same in every record; refuse null as its value."""
        # A whole declaration, as the service returns it, has a source, and null for whatever it does not have.
        if not isinstance(values, dict) or "source" in values:
            return values
        nulls = [name for name in ("constant", "default") if values.get(name, "") is None]
        if nulls:
            error = PydanticCustomError(NULL_VALUE, "expected a boolean, a number or a text")
            lines = [InitErrorDetails(type=error, loc=(name,), input=None) for name in nulls]
            raise ValidationError.from_exception_data(cls.__name__, lines)
        for source in (ColumnSource.EXPRESSION, ColumnSource.CONSTANT):
            if values.get(source.value) is not None:
                return values | {"source": source.value}
        return values

    @property
    def is_computed(self) -> bool:
        """Whether the column has an expression, a constant or a default."""
        has_source = self.source in (ColumnSource.EXPRESSION, ColumnSource.CONSTANT)
        return has_source or self.default is not None

    @property
    def source_path(self) -> tuple[str, ...]:
        """The field names from the root to the value, or the name of a header; empty for a whole part."""
        if self.path is None:
            return (self.column,) if self.source.has_names else ()
        return (self.path,) if self.source is ColumnSource.HEADER else tuple(self.path.split("."))


class KafkaSpec(Contract):
    """The Kafka cluster of the topic.

    Attributes:
        cluster: The name of a cluster in the operators' file; None: their cluster `default`.
        bootstrap_servers: `host:port[,host:port]` instead of a name; only where the operators'
            file allows addresses.
        options: Consumer options that operators allow streams to set, by Kafka's own names.
    """

    cluster: str | None = Field(default=None, min_length=1, examples=["shop"])
    bootstrap_servers: str | None = Field(default=None, min_length=1)
    options: Annotated[Mapping[str, str], at_most(OPTIONS_MAX)] = Field(default_factory=dict)


class PlacementSpec(Contract):
    """Which runners may run a stream.

    Attributes:
        labels: Labels that the runner has to have (`braid runner --label`); empty: any runner.
    """

    labels: Labels = Field(default_factory=dict, examples=[{"zone": "eu"}])


class DeadLetterBudgetSpec(Contract):
    """How many dead letters a stream may have; past it, the stream stops, and nothing of the micro-batch is committed.

    Attributes:
        count: The largest number of dead letters that were not replayed, since the stream's first start; None: any.
        rate: The largest fraction of dead letters among the stream's newest records, some ten thousand, 0 to 1;
            None: any. Fewer than 1,000 records count as 1,000.
    """

    count: NonNegativeInt | None = None
    rate: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Describe the fields; say that a topic is left out where Spark feeds the stream."""
    describe_fields(schema, model)
    if model is not StreamSpec and "topic" in schema.get("required", ()):
        schema["required"].remove("topic")
        if not schema["required"]:
            del schema["required"]


class StreamDefinition(Contract):
    """A stream as its owner declares it; registration fills in defaults for omitted fields.

    Attributes:
        name: The last part of the address; may be left out.
        source: Where the records come from: `kafka`, or `spark` for rows that Spark programs write. Of a stream from
            Spark, only its name, columns, group and labels, its owner, `on_null_ordering` and `on_delete` can be declared.
        topic: The Kafka topic; left out if the source is `spark`, and then `(spark)`.
        format: The format of values: `json`, `raw`, `maxwell`, `canal`, or an object with the format's `type` and
            options.
        key_format: The format of Kafka keys that name a schema of a registry; None: a key is one value, or a JSON
            object.
        columns: The columns that the stream writes; empty: the key and the stream's whole group, each
            column from the field of its name, or from the field that the registered stream reads already.
        fields: SQL types of the fields of values that expressions use, by path; a field that a column is
            read from has the column's type and is not named here.
        sequence_group: The group that the stream owns; None: the group of the stream's name.
        starting_offsets: The start, used if the table has no position of the stream, or only that of a
            former stream of its name which the stream does not continue.
        dead_letter_topic: The topic for refused records; None: `<topic>.dead-letters`.
        dead_letter_budget: How many dead letters the stream may have; None: the runner's bound for a micro-batch,
            more than 1,000 that are more than half of its records.
        on_null_ordering: The treatment of records whose ordering columns are all null.
        where: What a record fulfils that belongs to the stream, such as `type = 'order'`; all others are left out,
            of records without a value only those that a header or another part tells apart. None: every record
            belongs to it.
        delete_when: What a record with a value fulfils that is a delete, such as `op = 'd'`. None: none does.
        on_delete: The treatment of these deletes; None: the effect that the table declares.
        on_tombstone: The treatment of records without a value, which is Kafka's form of a delete. Left out, it
            is `dead_letter`, or `ignore` where the records are changes that have said so before.
        on_new_field: The treatment of records with fields that are not mapped.
        columns_max: With `evolve`: the largest number of columns of the stream; a record that needs one
            more is a dead letter.
        max_message_bytes: Largest size of a value; records with larger values are dead letters.
        partitioned_by_key: Whether producers send all records of a row to one partition although
            the row's key is not read from the Kafka key. A stream that is ordered by arrival alone
            needs the one or the other if its topic has several partitions.
        on_partitions_added: The effect of added partitions on a stream that is ordered by arrival alone.
        partitions_settle: With `continue`: the longest time until producers learn of new partitions,
            such as `6 min`; above their `metadata.max.age.ms`, whose default is 5 minutes.
        on_offsets_expired: The effect when Kafka has deleted records that the stream has not read yet.
        kafka: The cluster of the topic.
        mirror_consumer_group: A consumer group of that cluster in which the stream's runner commits the position
            that the table has, so that Kafka's own tools show it; None: none.
        trigger: When a micro-batch begins: `interval`, `available_now` or `continuous`; None: the interval of
            `trigger_ms`.
        trigger_ms: The milliseconds of an interval; earlier versions know no other trigger.
        max_records_per_batch: The largest number of records in one micro-batch.
        max_bytes_per_batch: The largest size of the records of one micro-batch, bytes, as far as it follows from the
            mean size of the records before; None: only their number is bounded.
        weight: The share of the task slots of its runner that the stream gets while other streams wait for slots, too: a
            stream of weight 2 gets twice as many as one of weight 1.
        placement: Which runners may run the stream.
        labels: Names and values by which people find the stream; at most 32.
        owner: Who answers for the stream; None: not declared.
    """

    model_config = ConfigDict(json_schema_extra=_describe)

    name: str | None = None
    source: StreamSource = StreamSource.KAFKA
    topic: str = Field(min_length=1, max_length=249, examples=["departures"])
    format: MessageFormat = Field(default=JsonFormat(), examples=["json"])
    key_format: KeyFormat | None = None
    columns: Annotated[tuple[StreamColumn, ...], at_most(COLUMNS_MAX)] = ()
    fields: Annotated[Mapping[str, TypeText], at_most(COLUMNS_MAX)] = Field(
        default_factory=dict, examples=[{"payload.price": "DECIMAL(9, 2)"}]
    )
    sequence_group: str | None = Field(default=None, min_length=1)
    starting_offsets: StartingOffsets = StartingOffsets.EARLIEST
    dead_letter_topic: str | None = Field(default=None, min_length=1, max_length=249)
    dead_letter_budget: DeadLetterBudgetSpec | None = None
    on_null_ordering: OnNullOrdering = OnNullOrdering.DEAD_LETTER
    where: ConditionText | None = None
    delete_when: ConditionText | None = None
    on_delete: OnDelete | None = None
    on_tombstone: OnDelete = OnDelete.DEAD_LETTER
    on_new_field: OnNewField = OnNewField.IGNORE
    columns_max: PositiveInt = 200
    max_message_bytes: PositiveInt = 1 << 20
    partitioned_by_key: StrictBool = False
    on_partitions_added: OnPartitionsAdded = OnPartitionsAdded.STOP
    partitions_settle: str = Field(default="6 min", min_length=1, max_length=40)
    on_offsets_expired: OnOffsetsExpired = OnOffsetsExpired.FAIL
    kafka: KafkaSpec = Field(default_factory=KafkaSpec)
    mirror_consumer_group: str | None = Field(
        default=None, min_length=1, max_length=249, examples=["braid.orders"]
    )
    trigger: Trigger | None = Field(
        default=None, examples=[{"type": "interval", "milliseconds": TRIGGER_MS}]
    )
    trigger_ms: PositiveInt = TRIGGER_MS
    max_records_per_batch: PositiveInt = 500_000
    max_bytes_per_batch: PositiveInt | None = None
    weight: PositiveInt = 1
    placement: PlacementSpec = Field(
        default_factory=PlacementSpec, examples=[{"labels": {"zone": "eu"}}]
    )
    labels: Labels = Field(default_factory=dict, examples=[{"team": "payments"}])
    owner: Owner | None = Field(default=None, examples=["payments@shop.example"])

    @model_validator(mode="before")
    @classmethod
    def _with_topic(cls, given: Any) -> Any:
        """Return a declaration with what stands for the topic, if Spark feeds the stream and no topic is given."""
        if isinstance(given, Mapping) and given.get("source") == StreamSource.SPARK:
            return {"topic": SPARK_TOPIC, **given}
        return given

    @property
    def is_from_spark(self) -> bool:
        """Whether Spark programs write the stream's rows, so that no runner hosts it."""
        return self.source is StreamSource.SPARK

    @property
    def has_deletes(self) -> bool:
        """Whether some records are written as deletes, by declaration."""
        return self.on_tombstone.deletes or (self.on_delete is not None and self.on_delete.deletes)

    @property
    def schema_registry(self) -> str | None:
        """The name of the schema registry that values, keys or both need; None if they need none."""
        of_values = schema_registry_of(self.format)
        if of_values is None and self.key_format is not None:
            return self.key_format.schema_registry
        return of_values

    @property
    def captures_changes(self) -> bool:
        """Whether records are changes of rows, which say by themselves what is a delete."""
        return captures_changes(self.format)

    @property
    def tells_kinds(self) -> bool:
        """Whether some records are left out, or are deletes, by declaration."""
        return (
            self.where is not None
            or self.delete_when is not None
            or self.captures_changes
            or self.on_tombstone is not OnDelete.DEAD_LETTER
        )


class StreamSpec(StreamDefinition):
    """A registered stream: a definition with all defaults filled in.

    `columns` is not empty; `on_delete` is None only without deletes in values; `sequence_group` is None only if the
    stream owns no group: on a table without groups, or if it writes unordered columns only.
    """

    name: str = Field(min_length=1)
    columns: tuple[StreamColumn, ...] = Field(min_length=1)
    dead_letter_topic: str = Field(min_length=1, max_length=249)
    trigger: Trigger = IntervalTrigger(milliseconds=TRIGGER_MS)

    @model_validator(mode="before")
    @classmethod
    def _with_trigger(cls, given: Any) -> Any:
        """Return a declaration with the trigger that `trigger_ms` declares, unless it has another kind of trigger.

        Earlier versions know `trigger_ms` alone, and change it beside a trigger that they do not know.
        """
        if not isinstance(given, Mapping):
            return given
        trigger, trigger_ms = given.get("trigger"), given.get("trigger_ms")
        kind = (
            trigger.get("type") if isinstance(trigger, Mapping) else getattr(trigger, "type", None)
        )
        if trigger is not None and (kind != "interval" or trigger_ms is None):
            return given
        milliseconds = TRIGGER_MS if trigger_ms is None else trigger_ms
        return {**given, "trigger": {"type": "interval", "milliseconds": milliseconds}}

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that the stream fills, whatever their source, without the generated ones."""
        return tuple(mapping.column for mapping in self.columns)

    @property
    def interval_ms(self) -> int:
        """The target time between the starts of two micro-batches, milliseconds; 0: the next follows at once."""
        return self.trigger.milliseconds if isinstance(self.trigger, IntervalTrigger) else 0

    @property
    def ends(self) -> bool:
        """Whether the stream is COMPLETED once it has read what its topic held when it started."""
        return isinstance(self.trigger, AvailableNowTrigger)
