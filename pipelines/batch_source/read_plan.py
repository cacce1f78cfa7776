"""Plan of a Spark query: its columns, and the splits of one state of the table, whose snapshot it leases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql.types import StructField, StructType

from braid.lake import (
    Condition,
    InvalidRequest,
    Problem,
    ReadAt,
    Scan,
    SchemaMismatch,
    Snapshot,
    Split,
    SplitReader,
    Table,
    TableSchema,
    parse_conditions,
)
from braid.pipelines.batch_source.read_options import SNAPSHOT_ID, TAG, ReadOptions
from braid.pipelines.spark.spark_types import spark_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedState:
    """The state that a table had when it was loaded.

    Attributes:
        snapshot: Its snapshot; None: the table had none, so there are no rows.
        schema_id: The schema that it is read under.
    """

    snapshot: Snapshot | None
    schema_id: int


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


def state_to_read(options: ReadOptions) -> LoadedState:
    """Return the state that the options name now.

    Raises:
        InvalidRequest: Table or state does not exist.
    """
    table = options.open()
    if options.is_newest:
        return LoadedState(snapshot=table.latest_snapshot(), schema_id=table.schema.id)
    scan = table.scan(at=_named(options))
    return LoadedState(snapshot=scan.snapshot, schema_id=scan.schema.id)


def bytes_to_read(options: ReadOptions) -> int:
    """Return the bytes of the data files that a read with the options would open now.

    Raises:
        InvalidRequest: Table, state or column does not exist, or the conditions do not fit.
    """
    scan = _scan(options.open(), options, options.columns)
    where = () if options.where is None else parse_conditions(options.where, scan.schema)
    splits = replace(scan, where=tuple(where)).plan().splits
    return sum(file.file_size for split in splits for file in split.files)


class ReadPlanner:
    """Plans queries on one state of a table."""

    def __init__(
        self, options: ReadOptions, wanted: StructType, state: LoadedState | None = None
    ) -> None:
        """Fix the state.

        Args:
            options: The options of the read.
            wanted: The columns as Spark expects them.
            state: The state to read; None: the one that the options name now.

        Raises:
            InvalidRequest: Table or state does not exist, or the conditions do not fit.
            SchemaMismatch: The table has other columns than Spark expects.
        """
        scan = _scan(options.open(), options, wanted.names, state)
        _check_types(spark_schema([scan.schema.field(name) for name in scan.columns]), wanted)
        where = () if options.where is None else parse_conditions(options.where, scan.schema)
        self._scan = replace(scan, where=tuple(where))
        self._is_empty = state is not None and state.snapshot is None
        self._target_bytes = options.split_bytes

    @property
    def schema(self) -> TableSchema:
        """The schema that the state is read under."""
        return self._scan.schema

    def plan(self, conditions: Sequence[Condition] = ()) -> ReadPlan:
        """Return the tasks of a query.

        The snapshot is leased, so that it is not expired while tasks wait for their turn.

        Args:
            conditions: What rows fulfil besides the option `where`.
        """
        scan = replace(self._scan, where=(*self._scan.where, *conditions))
        splits = () if self._is_empty else scan.splits(target_bytes=self._target_bytes)
        return ReadPlan(reader=scan.reader(is_leased=True), splits=splits)


def _schema_to_read(table: Table, options: ReadOptions) -> TableSchema:
    """Return the schema that the state is read under."""
    return table.schema if options.is_newest else _scan(table, options, None).schema


def _scan(
    table: Table,
    options: ReadOptions,
    columns: Sequence[str] | None,
    state: LoadedState | None = None,
) -> Scan:
    if state is None or state.snapshot is None:
        return table.scan(columns=columns, at=_named(options))
    # A tag keeps the state also when its snapshot has expired.
    at = ReadAt(snapshot_id=state.snapshot.id) if options.tag is None else _named(options)
    scan = table.scan(columns=columns, at=at, schema_id=state.schema_id)
    if scan.snapshot != state.snapshot:
        problem = Problem(
            field=SNAPSHOT_ID if options.tag is None else TAG,
            value=f"{state.snapshot.id}" if options.tag is None else options.tag,
            message="it is another state than when the table was loaded",
            hint="load the table again",
        )
        message = "the state of the table is not there any more"
        raise InvalidRequest(message, problems=[problem])
    return scan


def _named(options: ReadOptions) -> ReadAt:
    return ReadAt(snapshot_id=options.snapshot_id, tag=options.tag, timestamp=options.timestamp)


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
