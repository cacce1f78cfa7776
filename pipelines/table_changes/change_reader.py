"""Reader of a table's changes, as Spark calls it: in one process beside the driver, and for each task in a worker.

    query ──► initialOffset, latestOffset ──► a place in the snapshots (`change_offset`)
          ──► partitions                  ──► one task for each bucket (`change_plan`)
          ──► commit                      ──► what was read may expire (`change_hold`)
    task  ──► read                        ──► rows with `_row_kind`, in Arrow batches

The places are in Spark's checkpoint, and a place always stands for the same files. So a batch that is repeated has the same
rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StringType, StructType

from braid.lake import (
    InvalidRequest,
    Problem,
    ReadAt,
    RowKind,
    SchemaMismatch,
    SnapshotChanges,
    Table,
)
from braid.pipelines.spark.spark_types import arrow_form, spark_schema, to_spark_batch
from braid.pipelines.table_changes.change_hold import ChangeHold
from braid.pipelines.table_changes.change_offset import ChangeOffset, parse_offset
from braid.pipelines.table_changes.change_plan import BucketChanges, find_end, plan_changes
from braid.pipelines.table_changes.start_state import StartState
from braid.pipelines.table_changes.stream_options import (
    LATEST,
    START,
    START_SNAPSHOT,
    StreamOptions,
)
from braid.pipelines.table_changes.whole_changes import check_whole_changes

ROW_KIND: Final = "_row_kind"
"""The column with the kind of a change: +I, -U, +U or -D."""
_RELOAD: Final = "load the table again, without a schema: it has changed, or the schema that was given is not its own"
_SYMBOLS: Final = pa.array([kind.symbol for kind in RowKind])


def change_columns(options: StreamOptions) -> StructType:
    """Return the columns of a streaming read: those of the table, then `_row_kind`.

    Raises:
        InvalidRequest: The table does not exist, or has no such column, or no changelog of whole rows.
    """
    table = options.open()
    check_whole_changes(table.schema, is_raw=options.is_raw)
    names = table.schema.field_names if options.columns is None else options.columns
    if ROW_KIND in names:
        problem = Problem(
            field="columns",
            value=ROW_KIND,
            message="the kind of a change has this name",
            hint="choose the other columns with `columns`",
        )
        message = "the changes of the table cannot be read with all of its columns"
        raise InvalidRequest(message, problems=[problem])
    fields = spark_schema([table.schema.field(name) for name in names])
    return StructType([*fields.fields]).add(ROW_KIND, StringType(), nullable=False)


class ChangeReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes of a table.

    Args:
        options: The options.
        wanted: The columns as Spark expects them.

    Raises:
        InvalidRequest: The changes are only parts of rows.
        SchemaMismatch: The table has other columns than Spark expects.
    """

    def __init__(self, options: StreamOptions, wanted: StructType) -> None:
        self._options = options
        self._wanted = wanted
        self._columns = tuple(name for name in wanted.names if name != ROW_KIND)
        self._table = options.open()
        check_whole_changes(self._table.schema, is_raw=options.is_raw)
        _check_types(self._table, wanted)
        self._hold = ChangeHold(self._table, consumer=options.consumer)
        self._until: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the serialized form: what a task needs besides its part."""
        return ChangeReader, (self._options, self._wanted)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where a new query starts.

        Raises:
            InvalidRequest: The requested start does not exist.
            ChangesExpired: The changes from there on have expired.
        """
        start = self._start()
        self._hold.move(start)
        return start.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the bound of a batch."""
        files = self._options.files_max
        return ReadAllAvailable() if files is None else ReadMaxFiles(files)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End with the snapshot that is the newest now."""
        self._until = self._newest_id()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the end of the next batch.

        Raises:
            ChangesExpired: The changes after `start` have expired.
            InvalidRequest: The table was rolled back behind `start`.
        """
        begin = parse_offset(start)
        self._hold.move(begin)
        last_id = self._newest_id() if self._until is None else self._until
        files = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        end = find_end(self._table, self._columns, begin, last_id=last_id, files_max=files)
        return end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """Return the place after all changes, for the query's progress."""
        return ChangeOffset(snapshot=self._newest_id() + 1).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return one part for each bucket.

        Raises:
            ChangesExpired: The changes have expired.
        """
        begin, until = parse_offset(start), parse_offset(end)
        if not begin.is_full:
            changes = plan_changes(self._table, self._columns, begin, until)
            return [ChangePart(bucket) for bucket in changes]
        state = StartState(self._table, begin.snapshot, self._columns)
        last = until.index if until.is_full else len(state.buckets)
        reader = state.reader()
        return [ChangePart((reader, split)) for split in state.splits(begin.index, last)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part."""
        # Without any part Spark makes one of its own.
        if not isinstance(partition, ChangePart):
            return
        form = arrow_form(self._wanted)
        for rows, kinds in self._rows(partition.value):
            columns = dict(zip(self._columns, rows.columns, strict=True)) | {ROW_KIND: kinds}
            named = pa.RecordBatch.from_arrays([columns[name] for name in form.names], form.names)
            yield to_spark_batch(named, form)

    def commit(self, end: dict[str, Any]) -> None:
        """Let what was read expire."""
        self._hold.move(parse_offset(end))

    def stop(self) -> None:
        """Release the lease."""
        self._hold.close()

    def _rows(self, part: object) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        if not isinstance(part, BucketChanges):
            assert isinstance(part, tuple), "a reader and a split"
            reader, split = part
            for batch in reader.batches(split):
                yield batch, pa.repeat(_SYMBOLS[0], batch.num_rows)
            return
        for snapshot, entries in part.parts:
            changes = self._table.changes(snapshot.id - 1, snapshot.id, columns=self._columns)
            found = SnapshotChanges(snapshot=snapshot, entries=entries, changes=changes)
            for batch in found.to_batches():
                kinds = _SYMBOLS.take(batch.column(0))
                yield pa.RecordBatch.from_arrays(batch.columns[1:], list(self._columns)), kinds

    def _start(self) -> ChangeOffset:
        options, table = self._options, self._table
        if options.snapshot_id is not None:
            first, newest = options.snapshot_id, self._newest_id()
            if not 0 < first <= newest:
                raise _no_snapshot(first, newest=newest)
            # Refuses one whose changes have expired.
            table.changes(first - 1, first)
            return ChangeOffset(snapshot=first)
        if options.tag is not None or options.timestamp is not None:
            at = ReadAt(tag=options.tag, timestamp=options.timestamp)
            changes = table.changes(at)
            return ChangeOffset(snapshot=changes.after_snapshot_id + 1)
        newest = self._newest_id()
        if options.start == LATEST or not newest:
            return ChangeOffset(snapshot=newest + 1)
        return ChangeOffset(snapshot=newest, is_full=True)

    def _newest_id(self) -> int:
        newest = self._table.latest_snapshot()
        return 0 if newest is None else newest.id


class ChangePart(InputPartition):
    """What one task reads: the changes of a bucket, or a split of the rows with its reader."""


def _no_snapshot(found: int, *, newest: int) -> InvalidRequest:
    message = f"expected the id of a snapshot from 1 to {newest}, the newest"
    if not newest:
        message = "the table has no snapshot yet"
    hint = f"`{START}` = `{LATEST}` reads the changes from now on"
    problem = Problem(field=START_SNAPSHOT, value=str(found), message=message, hint=hint)
    return InvalidRequest("the start of the stream does not exist", problems=[problem])


def _check_types(table: Table, wanted: StructType) -> None:
    names = table.schema.field_names
    problems = []
    for field in wanted.fields:
        if field.name == ROW_KIND:
            continue
        if field.name not in names:
            message = "the table has no such column"
            problems.append(Problem(field=field.name, value=None, message=message, hint=_RELOAD))
            continue
        found = spark_schema([table.schema.field(field.name)]).fields[0].dataType
        if found != field.dataType:
            problems.append(
                Problem(
                    field=field.name,
                    value=field.dataType.simpleString(),
                    message=f"the column is {found.simpleString()}",
                    hint=_RELOAD,
                )
            )
    if problems:
        message = "the table does not have the columns that the query expects"
        raise SchemaMismatch(message, problems=problems)
