"""Rules for streams: no stream can harm the columns of the other streams of its table.

Pure functions from a table, its streams and one more stream to the problems of that stream. The following rules are
checked (decision 0008 has 1 to 6); if a rule names a module, that module checks it:

1. A stream maps the whole key, and only columns that exist (`mapping_rules`, with the paths of their fields). If it
   writes whole rows or aggregates, it maps all NOT NULL columns, too.
2. One group has one owner. A stream writes whole groups: a record with a part of a group would null the
   rest of the group whenever its version is the newest.
3. A stream writes nothing outside its group and the key, except unordered columns of a table
   that allows them; each of those has one owner.
4. Ordering columns that the table declares come from the stream; generated ones do not (`mapping_rules`).
5. A deduplicate or first-row table admits only one stream, because its rows are not merged by column.
6. An aggregation table admits several streams if nothing in it depends on the order in which their records arrive, or
   the risk is accepted: `aggregation_table_rules`. None of them may write a default into a column of another stream
   (`default_rules`).
7. In a table whose rows have their kind in a column, every stream maps that column.
8. Columns that a stream adds to the table fulfil these rules, too: `new_field_rules`.
9. Fields, declared formats of Kafka keys and declared formats of times fit the format of the messages: `format_rules`,
   `key_format_rules`, `time_format_rules`.
10. A stream's deletes have the effect that the table declares for them: `record_kind_rules`.
11. Columns that are read from headers, the timestamp, partition, offset or topic fit these parts: `record_part_rules`.
12. Expressions, constants and defaults fit their columns: `computed_column_rules`.
13. If a record lacks a column's field, the stream keeps the older value only in columns that the table declares as
    kept: `keep_rules`.
14. Captured changes lose no value that a database leaves out, and their messages say which changes are deletes:
    `change_capture_rules`.
15. Only key columns are read from the Kafka key: `arrival_rules`.
16. Names are allowed and differ; no stream reads a topic for dead letters of the table's streams; no two mirror their
    positions in one consumer group of one topic. `partitions_settle` is a duration.

Two streams may read one topic: each keeps its own position and account, and they own different columns. This module
does not call `replay_rules`, nor `kafka_rules`, `schema_registry_rules` and `stream_bounds`, which
`registry.stream_admission` calls at registration.
"""

from collections.abc import Iterator, Mapping

from braid.lake import parse_duration
from braid.registry import names
from braid.registry.layout.column_functions import sequence_fields
from braid.registry.layout.physical_table import ungrouped_columns
from braid.registry.rules.aggregation_table_rules import check_aggregation_table
from braid.registry.rules.arrival_rules import check_key_source
from braid.registry.rules.change_capture_rules import check_change_capture
from braid.registry.rules.computed_column_rules import check_computed_columns
from braid.registry.rules.format_rules import check_format
from braid.registry.rules.key_format_rules import check_key_format
from braid.registry.rules.mapping_rules import check_mapping
from braid.registry.rules.new_field_rules import check_kept_columns, check_new_fields
from braid.registry.rules.record_kind_rules import check_record_kinds
from braid.registry.rules.record_part_rules import check_record_parts
from braid.registry.rules.spark_source_rules import check_spark_source
from braid.registry.rules.tables.default_rules import check_defaults_of_multiple_streams
from braid.registry.rules.tables.delete_rules import ROW_KIND_FIELD
from braid.registry.rules.tables.keep_rules import check_on_missing
from braid.registry.rules.tables.table_rules import UNORDERED_RISK
from braid.registry.rules.time_format_rules import check_time_formats
from braid.schemas import (
    FieldProblem,
    MergeEngine,
    SequenceGroupSpec,
    StreamSpec,
    TableSpec,
)
from braid.schemas.field_problems import problem_at, quoted_list

_WHOLE_ROWS = {
    MergeEngine.DEDUPLICATE: "rows replace each other whole",
    MergeEngine.FIRST_ROW: "which row is the first would depend on which job commits first",
}


def check_stream(
    table: TableSpec, streams: Mapping[str, StreamSpec], stream: StreamSpec
) -> list[FieldProblem]:
    """Return all problems of a stream; empty when it can be registered.

    Args:
        table: The stream's table, which breaks no rule for tables.
        streams: The table's streams by name. A stream of the same name is the one to be replaced: it is
            compared only to find columns that would no longer be read.
        stream: The completed stream (`braid.registry.rules.stream_completion.complete_stream`).
    """
    others = {name: spec for name, spec in streams.items() if name != stream.name}
    return [
        *_check_names(others, stream),
        *check_spark_source(stream),
        *check_format(table, stream),
        *check_key_format(stream),
        *check_mapping(table, stream),
        *check_time_formats(table, stream),
        *check_computed_columns(table, stream),
        *check_record_parts(table, stream),
        *check_record_kinds(table, stream),
        *check_change_capture(table, stream),
        *check_on_missing(table, stream),
        *_check_key(table, stream),
        *_check_ownership(table, others, stream),
        *_check_row_kind(table, stream),
        *check_key_source(table, stream),
        *_check_settle(stream),
        *check_new_fields(table, others, stream),
        *check_kept_columns(table, others, stream, known=streams.get(stream.name)),
    ]


def _check_names(others: Mapping[str, StreamSpec], stream: StreamSpec) -> Iterator[FieldProblem]:
    yield from names.check_name(stream.name, "name", kind="stream")
    for other in others:
        if other.lower() == stream.name.lower():
            hint = "choose another name"
            yield names.case_problem(stream.name, "name", kind="stream", other=other, hint=hint)
    if not stream.is_from_spark:
        yield from names.check_topic(stream.topic, "topic")
        yield from names.check_topic(stream.dead_letter_topic, "dead_letter_topic")
    if stream.dead_letter_topic == stream.topic:
        yield problem_at(
            "dead_letter_topic",
            value=stream.dead_letter_topic,
            message="the stream reads this topic, so its dead letters would be read as new records",
            hint=f"for example `{stream.topic}.dead-letters`",
        )
    for name, other_spec in others.items():
        if _mirrored(stream) is not None and _mirrored(stream) == _mirrored(other_spec):
            yield problem_at(
                "mirror_consumer_group",
                value=stream.mirror_consumer_group,
                message=f"the stream `{name}` mirrors its position in this group, for the same topic",
                hint="give each of them a group of its own",
            )
        if stream.dead_letter_topic == other_spec.topic:
            yield problem_at(
                "dead_letter_topic",
                value=stream.dead_letter_topic,
                message=f"the stream `{name}` reads this topic",
                hint="choose a topic that no stream reads",
            )
        if stream.topic == other_spec.dead_letter_topic:
            yield problem_at(
                "topic",
                value=stream.topic,
                message=f"this is the dead-letter topic of the stream `{name}`",
                hint="read the topic that the records come from",
            )


def _mirrored(stream: StreamSpec) -> tuple[str, str, str | None, str | None] | None:
    """Return the offsets that a stream mirrors its position in: group, topic and cluster; None: it has no mirror."""
    if stream.mirror_consumer_group is None:
        return None
    kafka = stream.kafka
    return stream.mirror_consumer_group, stream.topic, kafka.cluster, kafka.bootstrap_servers


def _check_settle(stream: StreamSpec) -> Iterator[FieldProblem]:
    if parse_duration(stream.partitions_settle) is None:
        yield problem_at(
            "partitions_settle",
            value=stream.partitions_settle,
            message="expected a duration",
            hint="for example `6 min`, `30 s`",
        )


def _check_key(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    mapped = frozenset(stream.column_names)
    for column in table.primary_key:
        if column not in mapped:
            yield problem_at(
                "columns",
                value=column,
                message=f"the key column `{column}` is not mapped, so the row of a record could "
                "not be found",
                hint=f'add {{"column": "{column}"}}, with a `path` if the field has another name',
            )


def _check_row_kind(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    column = table.options.get(ROW_KIND_FIELD)
    if column in table.column_names and column not in stream.column_names:
        yield problem_at(
            "columns",
            value=column,
            message=f"the column `{column}` holds the kind of each row, but the column is not mapped",
            hint=f'add {{"column": "{column}"}}',
        )


def _check_ownership(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    if table.merge_engine is not MergeEngine.PARTIAL_UPDATE:
        yield from _check_whole_rows(table, others, stream)
        return
    group = table.sequence_group(stream.sequence_group) if stream.sequence_group else None
    yield from _check_group(table, others, stream, group)
    yield from _check_foreign(table, others, stream, group)
    yield from _check_plain(table, others, stream)


def _check_whole_rows(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    engine = table.merge_engine
    if engine is MergeEngine.AGGREGATION:
        yield from check_aggregation_table(table, others, stream)
        yield from check_defaults_of_multiple_streams(table, others, stream)
    elif others:
        yield problem_at(
            "name",
            value=stream.name,
            message=f"a {engine.value} table takes only one stream, and already has "
            f"{quoted_list(sorted(others))}: {_WHOLE_ROWS[engine]}",
            hint="make a partial-update table with a sequence group for each stream",
        )
    if stream.sequence_group is not None:
        yield problem_at(
            "sequence_group",
            value=stream.sequence_group,
            message=f"a {engine.value} table has no sequence groups",
            hint="leave it out",
        )
    yield from _check_needed(table, stream)


def _check_needed(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield unmapped columns that every record needs: NOT NULL columns, and columns that order rows."""
    needed = [*sequence_fields(table)]
    # By text: the type's own nullability is at the end of its text, whatever it nests.
    needed += [c.name for c in table.columns if c.type.upper().rstrip().endswith("NOT NULL")]
    for column in dict.fromkeys(needed):
        is_missing = column in table.column_names and column not in stream.column_names
        if is_missing and column not in table.primary_key:
            yield problem_at(
                "columns",
                value=column,
                message=f"`{column}` is NOT NULL or orders the rows, but is not mapped",
                hint=f'add {{"column": "{column}"}}',
            )


def _check_group(
    table: TableSpec,
    others: Mapping[str, StreamSpec],
    stream: StreamSpec,
    group: SequenceGroupSpec | None,
) -> Iterator[FieldProblem]:
    if group is None:
        yield from _check_groupless(table, others, stream)
        return
    for name, other in others.items():
        if other.sequence_group == group.name:
            free = _free_groups(table, others)
            yield problem_at(
                "sequence_group",
                value=group.name,
                message=f"the stream `{name}` owns this sequence group already",
                hint=f"one group has one owner; groups without one: {quoted_list(free)}",
            )
    mapped = set(stream.column_names)
    for column in group.ordering or ():
        if column not in mapped:
            yield problem_at(
                "columns",
                value=column,
                message=f"the ordering column `{column}` of the group `{group.name}` "
                "is not mapped: its versions would have no order",
                hint=f'add {{"column": "{column}"}}',
            )
    for column in group.columns:
        if column not in mapped:
            yield problem_at(
                "columns",
                value=column,
                message=f"`{column}` of the group `{group.name}` is not mapped: a stream writes "
                "whole groups, because a column that it leaves out would become null",
                hint=f'add {{"column": "{column}"}}, or put the column into a group of its own',
            )


def _check_groupless(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    hint = f"groups without an owner: {quoted_list(_free_groups(table, others))}"
    if stream.sequence_group is not None:
        yield problem_at(
            "sequence_group",
            value=stream.sequence_group,
            message="no such sequence group",
            hint=hint,
        )
    # Unordered columns have owners one by one, so a stream may own some of them and no group.
    elif not set(stream.column_names) & set(ungrouped_columns(table)):
        yield problem_at(
            "sequence_group",
            message=f"the stream owns nothing: no group is called `{stream.name}` and "
            "`sequence_group` names none",
            hint=hint,
        )


def _check_foreign(
    table: TableSpec,
    others: Mapping[str, StreamSpec],
    stream: StreamSpec,
    group: SequenceGroupSpec | None,
) -> Iterator[FieldProblem]:
    owners = {other.sequence_group: name for name, other in others.items()}
    # Keys are in no group, so every stream may map them.
    belongs = {
        column: foreign.name
        for foreign in table.sequence_groups
        if foreign != group
        for column in (*(foreign.ordering or ()), *foreign.columns)
    }
    for index, column in enumerate(stream.column_names):
        if column not in belongs:
            continue
        owner = owners.get(belongs[column])
        owned_by = f", which the stream `{owner}` owns" if owner else ""
        yield problem_at(
            "columns",
            index,
            "column",
            value=column,
            message=f"the column belongs to the group `{belongs[column]}`{owned_by}",
            hint="map only the key and the columns of the stream's own group",
        )


def _check_plain(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    plain = set(ungrouped_columns(table))
    owners = {column: name for name, other in others.items() for column in other.column_names}
    for index, column in enumerate(stream.column_names):
        if column not in plain:
            continue
        if column not in table.unordered_columns:
            message = f"no sequence group orders this column: {UNORDERED_RISK}"
            hint = "declare the column in a sequence group of the table"
        elif column in owners:
            message = f"the stream `{owners[column]}` writes this unordered column already"
            hint = "one column has one owner; leave it out"
        else:
            continue
        yield problem_at("columns", index, "column", value=column, message=message, hint=hint)


def _free_groups(table: TableSpec, others: Mapping[str, StreamSpec]) -> list[str]:
    taken = {other.sequence_group for other in others.values()}
    return [group.name for group in table.sequence_groups if group.name not in taken]
