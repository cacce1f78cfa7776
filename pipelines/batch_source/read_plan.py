"""Read plan of a Spark query: its columns, and the splits of one state of the table, whose snapshot it leases."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructField, StructType

from braid.lake import (
    Condition,
    Problem,
    ReadAt,
    Scan,
    SchemaMismatch,
    Split,
    SplitReader,
    Table,
    TableSchema,
    parse_conditions,
)
from braid.pipelines.batch_source.read_options import ReadOptions
from braid.pipelines.spark.spark_types import spark_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """The tasks of a query.

    Attributes:
        reader: What all tasks share.
        splits: The splits, one for each task.
    """

    reader: SplitReader
    splits: tuple[Split, ...]


def columns_to_read(options: ReadOptions) -> StructType:
    """Return the columns of a query that is given no schema.

    Raises:
        InvalidRequest: Table, state or column does not exist, or the conditions do not fit.
    """
    schema = _schema_to_read(options.open(), options)
    if options.where is not None:
        parse_conditions(options.where, schema)
    names = schema.field_names if options.columns is None else options.columns
    return spark_schema([schema.field(name) for name in names])


def plan_read(options: ReadOptions, wanted: StructType) -> ReadPlan:
    """Return the tasks of a query; the state to read is fixed now.

    The snapshot is leased, so that it is not expired while tasks wait for their turn.

    Args:
        options: The options of the read.
        wanted: The columns as Spark expects them.

    Raises:
        InvalidRequest: Table or state does not exist, or the conditions do not fit.
        SchemaMismatch: The table has other columns than Spark expects.
    """
    table = options.open()
    schema = _schema_to_read(table, options)
    where = () if options.where is None else parse_conditions(options.where, schema)
    scan = _scan(table, options, wanted.names, where)
    _check_types(spark_schema([scan.schema.field(name) for name in scan.columns]), wanted)
    return ReadPlan(
        reader=scan.reader(is_leased=True),
        splits=scan.splits(target_bytes=options.split_bytes),
    )


def _schema_to_read(table: Table, options: ReadOptions) -> TableSchema:
    """Return the schema that the state is read under."""
    return table.schema if options.is_newest else _scan(table, options, None, ()).schema


def _scan(
    table: Table,
    options: ReadOptions,
    columns: Sequence[str] | None,
    where: Sequence[Condition],
) -> Scan:
    at = ReadAt(snapshot_id=options.snapshot_id, tag=options.tag, timestamp=options.timestamp)
    return table.scan(columns=columns, where=where, at=at)


def _check_types(found: StructType, wanted: StructType) -> None:
    """Refuse columns of another type than Spark expects, or nullable columns that Spark expects as NOT NULL."""
    problems = [
        Problem(
            field=want.name,
            value=_text(want),
            message=f"the column is {_text(have)}",
            hint="leave the schema out, or load the table again if it has changed since",
        )
        for have, want in zip(found, wanted, strict=True)
        if have.dataType != want.dataType or (have.nullable and not want.nullable)
    ]
    if problems:
        message = "the table does not have the columns that the query expects"
        raise SchemaMismatch(message, problems=problems)


def _text(field: StructField) -> str:
    return f"{field.dataType.simpleString()}{'' if field.nullable else ' not null'}"
