"""Target of a write: a registered stream of the source `spark`, its table, and the check of the columns that are written."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import StructField, StructType

from braid.lake import (
    Catalog,
    InvalidRequest,
    Problem,
    QueryBatch,
    SchemaMismatch,
    SystemClock,
    Table,
    file_io_for,
)
from braid.pipelines.spark.spark_types import spark_type
from braid.pipelines.table_sink.write_options import ROW_KIND_COLUMN, STREAM, WriteOptions
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.declared_table import read_declared_table
from braid.registry.store.documents import RegistryStore
from braid.registry.store.stored_documents import check_features
from braid.registry.stream_entries import entry_of
from braid.schemas import SPARK_TOPIC, DesiredState, OnMissing, StreamEntry

_HOW_TO_RUN: Final = {DesiredState.PAUSED: "resume it", DesiredState.STOPPED: "start it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTarget:
    """A stream that can be written now.

    Attributes:
        plan: The stream's plan.
        table: Its table, at the schema of the plan.
    """

    plan: StreamPlan
    table: Table

    def batch(
        self, options: WriteOptions, *, query: str, batch_id: int | None, write: str | None
    ) -> QueryBatch:
        """Return the batch that is written (see `QueryBatch`)."""
        return QueryBatch(
            stream=self.plan.stream,
            source=SPARK_TOPIC,
            group=self.plan.order_group,
            query=query,
            batch_id=batch_id,
            write=write,
            takes_over=options.takeover,
        )


def open_target(options: WriteOptions) -> StreamTarget:
    """Return the stream that the options name, as it is registered now.

    Raises:
        TableNotFound, StreamNotFound: There is no such table or stream.
        InvalidRequest: A runner feeds the stream from a topic, or the stream is stopped.
        FeaturesMissing: A newer version has registered the stream.
        LakeError: Registry or table cannot be read.
    """
    catalog = Catalog(options.warehouse)
    store = RegistryStore(file_io_for(options.warehouse), options.warehouse, SystemClock())
    state = read_declared_table(store, catalog, options.table)
    entry = entry_of(state.document, options.stream)
    check_features(state.document, entry)
    problems = list(_unwritable(entry))
    if problems:
        message = f"the stream {options.stream} of {options.table} cannot be written"
        raise InvalidRequest(message, problems=problems)
    plan = plan_stream(
        table=options.table,
        spec=state.document.table,
        stream=entry.spec,
        schema=state.table.schema,
        version=entry.version,
    )
    return StreamTarget(plan=plan, table=state.table)


def check_columns(target: StreamTarget, rows: StructType, options: WriteOptions) -> None:
    """Refuse rows whose columns are not those of the stream.

    Raises:
        SchemaMismatch: `problems` has each column that is missing, unknown, or of another type.
    """
    problems = [*_kind_problems(rows, options), *_column_problems(target, rows, options)]
    if problems:
        message = f"the rows do not fit the stream {target.plan.key}"
        raise SchemaMismatch(message, problems=problems)


def _unwritable(entry: StreamEntry) -> Iterator[Problem]:
    name = entry.spec.name
    if not entry.spec.is_from_spark:
        yield Problem(
            field=STREAM,
            value=name,
            message=f"a runner feeds the stream from the topic {entry.spec.topic}",
            hint="register a stream with `source: spark`, which owns the columns that are written",
        )
    elif entry.desired_state is not DesiredState.RUNNING:
        yield Problem(
            field=STREAM,
            value=name,
            message=f"the stream is {entry.desired_state.value}",
            hint=_HOW_TO_RUN[entry.desired_state],
        )


def _kind_problems(rows: StructType, options: WriteOptions) -> Iterator[Problem]:
    name = options.row_kind_column
    if name is None:
        return
    found = [field for field in rows.fields if field.name == name]
    if not found:
        yield Problem(field=ROW_KIND_COLUMN, value=name, message="the rows have no such column")
    elif found[0].dataType.simpleString() != "string":
        yield Problem(
            field=ROW_KIND_COLUMN,
            value=name,
            message=f"the column is {found[0].dataType.simpleString()}, expected string",
            hint="its values are +I, -U, +U and -D",
        )


def _column_problems(
    target: StreamTarget, rows: StructType, options: WriteOptions
) -> Iterator[Problem]:
    plan = target.plan
    given = {field.name: field for field in rows.fields if field.name != options.row_kind_column}
    shown = ", ".join(column.name for column in plan.columns)
    for name, count in Counter(rows.names).items():
        if count > 1:
            yield Problem(
                field=name,
                value=None,
                message=f"{count} columns have this name",
                hint="drop or rename all but one",
            )
    for column in plan.columns:
        found = given.get(column.name)
        if found is not None:
            yield from _type_problem(found, spark_type(column.type).simpleString())
        elif plan.written.on_missing.get(column.name) is not OnMissing.KEEP:
            yield Problem(
                field=column.name,
                value=None,
                message="missing",
                hint=f"the stream writes {shown}; {_how_to_add(column.name, target, given)}",
            )
    for name in given.keys() - {column.name for column in plan.columns}:
        is_of_table = name in target.table.schema.field_names
        yield Problem(
            field=name,
            value=None,
            message="the stream does not write the column"
            if is_of_table
            else "the table has no such column",
            hint=f"select the stream's own columns: {shown}",
        )


def _how_to_add(name: str, target: StreamTarget, given: Collection[str]) -> str:
    """Return what to do about a column that the rows do not have."""
    alike = next((other for other in given if other.lower() == name.lower()), None)
    if alike is not None:
        return f"names are case-sensitive: rename {alike}"
    if name in target.table.schema.primary_keys:
        return "add the column: each row needs its whole key"
    return "add the column, as nulls where it has no values"


def _type_problem(found: StructField, expected: str) -> Iterator[Problem]:
    kind = found.dataType.simpleString()
    if kind != expected:
        column = f'col("{found.name}")'
        # A cast of a text makes a VARIANT that is this text.
        of_json = {("string", "variant"): "parse_json", ("variant", "string"): "to_json"}
        function = of_json.get((kind, expected))
        value = f'{column}.cast("{expected}")' if function is None else f"{function}({column})"
        yield Problem(
            field=found.name,
            value=kind,
            message=f"expected {expected}, found {kind}",
            hint=f'convert it: .withColumn("{found.name}", {value})',
        )
