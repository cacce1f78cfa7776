"""Parser of Kafka records, as expressions for the JVM: typed columns, or the reason of a refusal.

A record is refused for the first of these reasons:

1. its value is null (`tombstone`: a delete is a record whose value has the row kind, so a record without
   a value is not a delete), or longer than the stream's bound (`too_large`);
2. `from_json` cannot parse it as declared (`unparsable`, which the sink refines);
3. a value does not fit its column's type (`out_of_range`, `wrong_type`); or the Kafka key does not contain
   what is read from it (`malformed_key`); or a value is too long to name a partition's directory
   (`partition_too_long`, which the sink reports as `out_of_range`); or the texts and bytes of the primary
   key together have more bytes than the table allows (`too_large`; partition columns do not count);
4. a key column is null (`missing_key`), or another NOT NULL column is (`not_null`);
5. all ordering columns are null (`null_ordering`), unless such a record clears the group;
6. the column with the row kind (`rowkind.field`) has a value that the table does not accept (`row_kind`);
7. it has a field that is not declared (`new_field`), where the stream rejects such fields. Where the stream
   lets its table evolve, such a record is only marked (`undeclared`), and Python decides.

A record whose text columns may have lost digits of a number is marked as well (`inexact`), and Python
reads these texts from the message.

Whether an aggregate function can read a value (a bitmap, a sketch) is checked in Python (`unreadable`).

Refused and marked records carry their raw key, value and headers to Python. If Python checks any column of
the stream, every record carries these raw parts. No other record carries them, because they would only add
to the data that is sent to Python.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, Final

from pyspark.sql import (
    Column,
    DataFrame,
    functions as fn,
    types as spark_types,
)

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.mapped_column import MappedColumn
from braid.lake import TypeRoot
from braid.pipelines.json.inexact_text import has_inexact_text
from braid.pipelines.json.json_column import JsonColumn, json_type, read_column
from braid.pipelines.json.key_column import PARSED_KEY, has_paths, parse_key, raw_key, read_key
from braid.pipelines.new_fields.undeclared_field_check import has_undeclared_fields
from braid.pipelines.partition_names import ESCAPED, partition_bytes_max
from braid.pipelines.record_columns import (
    DETAIL,
    INEXACT,
    KEY,
    OFFSET,
    PARTITION,
    PARTITION_TOO_LONG,
    RAW_HEADERS,
    RAW_KEY,
    RAW_VALUE,
    REASON,
    TIMESTAMP,
    UNDECLARED,
    UNPARSABLE,
    value_column,
)
from braid.pipelines.stream_plan import StreamPlan
from braid.schemas import OnNewField

_ROOT = "message"
_CORRUPT = "corrupt"
_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "allowSingleQuotes": "false",
}


class RecordParser:
    """Parses the records of one stream by its plan.

    Made once per plan and used for each micro-batch: building the expressions, call by call through py4j,
    takes longer than planning them in the JVM.
    """

    def __init__(self, plan: StreamPlan) -> None:
        """Build the expressions.

        Raises:
            UnsupportedFeature: A column's type cannot be read from JSON.
        """
        message, text = f"parsed.{_ROOT}", fn.col("value").cast("string")
        columns = [
            read_key(column)
            if column.from_key
            else read_column(_raw(message, column), text, column.type, column=column.name)
            for column in plan.columns
        ]
        names = [value_column(i) for i in range(len(columns))]
        values = [column.value.alias(name) for column, name in zip(columns, names, strict=True)]
        self._parsed = [
            *(fn.col(name) for name in _RECORD),
            fn.when(_is_readable(plan), _from_json(plan)).alias("parsed"),
            *([parse_key(plan).alias(PARSED_KEY)] if has_paths(plan) else []),
        ]
        marks: dict[str, Column] = {}
        if plan.spec.on_new_field is OnNewField.EVOLVE:
            found = has_undeclared_fields(fn.col(message), text, plan, nulls_count=False)
            marks[UNDECLARED] = found
        inexact = has_inexact_text(fn.col(message), text, plan)
        if inexact is not None:
            marks[INEXACT] = inexact
        needs_raw = reduce(
            lambda needed, mark: needed | fn.col(mark), marks, fn.col("refusal").isNotNull()
        )
        if plan.checked_columns:
            needs_raw = fn.lit(True)  # Python may refuse any of the records
        self._judged = [
            fn.col("*"),
            _judge(plan, columns).alias("refusal"),
            *values,
            *(mark.alias(name) for name, mark in marks.items()),
        ]
        self._output = _output(needs_raw, names, marks)
        self._output_with_raw = _output(fn.expr("true"), names, marks)

    def __call__(self, records: DataFrame, *, keeps_raw: bool = False) -> DataFrame:
        """Return one row per record, in the same order.

        Args:
            records: Records of Spark's Kafka source with headers: key, value, partition, offset, timestamp,
                headers.
            keeps_raw: Whether every record carries its raw parts, accepted ones included.

        Returns:
            `kafka_partition` int, `kafka_offset` bigint, `kafka_timestamp`, `reason` string (null:
            accepted) and `detail` string (the column that the reason is about, if any), the raw parts (null
            where accepted and not marked, unless `keeps_raw`), and `value_0`, `value_1`, ... in the order of
            `plan.columns`: their values are defined only where the record is accepted. If the stream
            lets its table evolve, also `undeclared` boolean: the record may have a new field. If it
            has text columns, also `inexact` boolean: numbers in them may have lost digits.
        """
        output = self._output_with_raw if keeps_raw else self._output
        # Each projection names what the next one uses several times.
        return records.select(*self._parsed).select(*self._judged).select(*output)


def _output(needs_raw: Column, names: Sequence[str], marks: Iterable[str]) -> list[Column]:
    """Return the columns that are passed to Python, with the raw parts of records that need them."""
    return [
        fn.col("partition").alias(PARTITION),
        fn.col("offset").alias(OFFSET),
        fn.col("timestamp").alias(TIMESTAMP),
        fn.col("refusal.reason").alias(REASON),
        fn.col("refusal.detail").alias(DETAIL),
        *[
            fn.when(needs_raw, raw).alias(name)
            for raw, name in (
                (fn.col("key"), RAW_KEY),
                (fn.col("value"), RAW_VALUE),
                (fn.to_json("headers"), RAW_HEADERS),
            )
        ],
        *(fn.col(name) for name in names),
        *(fn.col(name) for name in marks),
    ]


_RECORD: Final = ("partition", "offset", "timestamp", "key", "value", "headers")


def _judge(plan: StreamPlan, columns: Sequence[JsonColumn]) -> Column:
    """Return the reason of a refusal and its detail, as a struct that is null for an accepted record."""
    message = f"parsed.{_ROOT}"
    assert len(columns) == len(plan.columns), "each column of the plan is read"
    # `coalesce` stops at the first reason: the order is that of the list at the head of this file.
    return fn.coalesce(
        _refuse(fn.col("value").isNull(), DeadLetterReason.TOMBSTONE),
        _refuse(fn.length("value") > plan.spec.max_message_bytes, DeadLetterReason.TOO_LARGE),
        _refuse(fn.col(message).isNull() | fn.col(f"parsed.{_CORRUPT}").isNotNull(), UNPARSABLE),
        *[
            fn.when(column.fault.isNotNull(), _refusal(column.fault, mapped.name))
            for column, mapped in zip(columns, plan.columns, strict=True)
            if column.fault is not None
        ],
        *_partition_refusals(plan, message),
        *_key_refusals(plan, columns),
        *_null_refusals(plan, message),
        *_row_kind_refusals(plan, message),
        *_field_refusals(plan, message),
        fn.lit(None).cast(_REFUSAL_TYPE),
    )


_REFUSAL_TYPE = "struct<reason:string,detail:string>"


def _is_readable(plan: StreamPlan) -> Column:
    """Return whether the value can be parsed. Invalid UTF-8 is excluded: Jackson would replace it without an error."""
    is_short = fn.length("value") <= plan.spec.max_message_bytes
    return is_short & fn.is_valid_utf8(fn.col("value").cast("string"))


def _from_json(plan: StreamPlan) -> Column:
    # Spark reads the first JSON value of a text and ignores what follows. Inside an object of
    # ours, a second value after the first is an error: two messages sent as one are refused, not
    # half of them lost.
    text = fn.concat(fn.lit(f'{{"{_ROOT}":'), fn.col("value").cast("string"), fn.lit("}"))
    schema = spark_types.StructType(
        [
            spark_types.StructField(_ROOT, _message_type(plan)),
            spark_types.StructField(_CORRUPT, spark_types.StringType()),
        ]
    )
    return fn.from_json(text, schema, _OPTIONS)


def _message_type(plan: StreamPlan) -> spark_types.StructType:
    """Return the declared part of a message: nested objects as far as the paths go."""
    tree: dict[str, Any] = {}
    for column in plan.value_columns:
        *parents, leaf = column.path
        branch: dict[str, Any] = reduce(lambda node, name: node.setdefault(name, {}), parents, tree)
        branch[leaf] = json_type(column.type, column=column.name)
    return _struct(tree)


def _struct(tree: dict[str, Any]) -> spark_types.StructType:
    return spark_types.StructType(
        [
            spark_types.StructField(name, _struct(node) if isinstance(node, dict) else node)
            for name, node in tree.items()
        ]
    )


def _raw(message: str, column: MappedColumn) -> Column:
    if column.from_key:
        return raw_key(column)
    return reduce(lambda value, name: value.getField(name), column.path, fn.col(message))


def _partition_refusals(plan: StreamPlan, message: str) -> list[Column]:
    """Refuse texts that are too long for the name of a directory; values of other types never are."""
    refusals = []
    for column in plan.columns:
        is_text = column.type.root in (TypeRoot.CHAR, TypeRoot.VARCHAR)
        if column.name in plan.partition_keys and is_text:
            escaped = fn.regexp_replace(_raw(message, column), ESCAPED, "%XX")
            is_long = fn.octet_length(escaped) > partition_bytes_max(column.name)
            refusals.append(_refuse(is_long, PARTITION_TOO_LONG, detail=column.name))
    return refusals


def _key_refusals(plan: StreamPlan, columns: Sequence[JsonColumn]) -> list[Column]:
    lengths = [
        fn.coalesce(fn.octet_length(columns[index].value), fn.lit(0))
        for index in plan.long_key_columns
    ]
    if not lengths:
        return []
    is_long = reduce(lambda left, right: left + right, lengths) > plan.key_bytes_max
    return [_refuse(is_long, DeadLetterReason.TOO_LARGE, detail=KEY)]


def _null_refusals(plan: StreamPlan, message: str) -> list[Column]:
    fields = {column.name: _raw(message, column) for column in plan.columns}
    nullable = {column.name: column.type.nullable for column in plan.columns}
    key = set(plan.written.key)
    refusals = [
        _refuse(fields[name].isNull(), DeadLetterReason.MISSING_KEY, detail=name)
        for name in plan.written.key
    ]
    refusals += [
        _refuse(field.isNull(), DeadLetterReason.NOT_NULL, detail=name)
        for name, field in fields.items()
        if name not in key and not nullable[name]
    ]
    if plan.ordering and not plan.clears_null_ordering:
        are_null = reduce(
            lambda left, right: left & right, [fields[name].isNull() for name in plan.ordering]
        )
        refusals.append(
            _refuse(are_null, DeadLetterReason.NULL_ORDERING, detail=", ".join(plan.ordering))
        )
    return refusals


def _row_kind_refusals(plan: StreamPlan, message: str) -> list[Column]:
    """Refuse a row kind that is missing, or that the table does not accept."""
    fields = (_raw(message, column) for column in plan.columns if column.name == plan.kind_column)
    return [
        _refuse(
            field.isNull() | ~field.isin(*plan.row_kinds),
            DeadLetterReason.ROW_KIND,
            detail=plan.kind_column,
        )
        for field in fields
    ]


def _field_refusals(plan: StreamPlan, message: str) -> list[Column]:
    if plan.spec.on_new_field is not OnNewField.REJECT:
        return []
    text = fn.col("value").cast("string")
    found = has_undeclared_fields(fn.col(message), text, plan, nulls_count=True)
    return [_refuse(found, DeadLetterReason.NEW_FIELD)]


def _refuse(condition: Column, reason: str, *, detail: str | None = None) -> Column:
    return fn.when(condition, _refusal(fn.lit(str(reason)), detail))


def _refusal(reason: Column, detail: str | None) -> Column:
    return fn.struct(reason.alias("reason"), fn.lit(detail).cast("string").alias("detail"))
