"""Data source `braid` of Spark: `spark.read.format("braid")`.

Spark calls these methods in other Python processes than the driver's:

    .load()    BraidSource.schema      the columns
    planning   BraidSource.reader      the splits; the snapshot is fixed here
    task       TaskReader.read         one split, in Arrow batches

Up to Spark 4.3.0 all queries on a loaded table share the newest plan that one of them has made, whatever their
filters are. So rows are chosen where the table is loaded, by the option `where`. A release that keeps the plan in the
query gets `FilteredSource`, which takes the filters of queries, if the session has them pushed down (decision 0090).
"""

from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from braid.lake import InvalidRequest, LakeError, Problem
from braid.pipelines.batch_source.read_options import read_options
from braid.pipelines.batch_source.read_plan import (
    LoadedState,
    ReadPlanner,
    columns_to_read,
    state_to_read,
)
from braid.pipelines.batch_source.table_reader import FilteringReader, TableReader
from braid.pipelines.table_changes.change_reader import ChangeReader, change_columns
from braid.pipelines.table_changes.refused_reader import RefusedReader
from braid.pipelines.table_changes.stream_options import names_start, stream_options
from braid.pipelines.table_sink.write_options import write_options
from braid.pipelines.table_sink.writers import BatchWriter, StreamWriter

FORMAT: Final = "braid"
PUSHES_FILTERS: Final = "spark.sql.python.filterPushdown.enabled"
"""The setting of Spark by which queries push filters down to Python data sources."""
_SCAN_BUILDER: Final = "org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder"
"""Spark makes an object of this class for each part of a query that reads a table."""
_KEPT_PLAN: Final = "readInfo"
"""Its field with the plan, in releases that do not keep the plan in the table."""


def register(session: SparkSession) -> None:
    """Register the format in a session: `session.read.format("braid")`.

    Queries push their filters down if Spark's setting `PUSHES_FILTERS` is `true` now, and if this Spark keeps the plans of
    queries apart. The workers of the session have to be able to import this package.

    Spark looks for the format in the active session of the calling thread, which this session becomes: register it in
    each thread that reads or writes.
    """
    _activate(session)
    is_pushed = session.conf.get(PUSHES_FILTERS, "false") == "true"
    takes_filters = is_pushed and keeps_plans_apart(session)
    session.dataSource.register(FilteredSource if takes_filters else BraidSource)


def _activate(session: SparkSession) -> None:
    """Make a session the active one of the calling thread. A session of Spark Connect has no JVM here, and needs none of it."""
    jvm = getattr(session, "_jvm", None)
    if jvm is not None:
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)


def keeps_plans_apart(session: SparkSession) -> bool:
    """Return whether a query on a loaded table reads what its own filters left in, and not what those of another one did.

    False also where it cannot be told, as in a session of Spark Connect.
    """
    jvm = getattr(session, "_jvm", None)
    if jvm is None:
        return False
    fields = jvm.java.lang.Class.forName(_SCAN_BUILDER).getDeclaredFields()
    return _KEPT_PLAN in [field.getName() for field in fields]


class BraidSource(DataSource):
    """Data source that reads one table."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `spark.read.format`."""
        return FORMAT

    def schema(self) -> StructType:
        """Return the columns.

        Raises:
            InvalidRequest: The options are wrong, or there is no such table, state or column.
        """
        if names_start(self.options):
            return change_columns(stream_options(self.options))
        return columns_to_read(read_options(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader for the columns of a schema: those of `schema`, or those that `.schema(…)` names."""
        return TableReader(ReadPlanner(read_options(self.options), schema), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of the changes.

        A query whose options are wrong, or whose table does not exist, has no changelog of whole rows, or has other columns
        than `schema`, fails at the reader's first call: after an error of this method Spark reports one of its own.
        """
        try:
            return ChangeReader(stream_options(self.options), schema)
        except (LakeError, OSError) as error:
            return RefusedReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a DataFrame.

        Raises:
            InvalidRequest: The options are wrong, the stream cannot be written, or the write would replace all rows.
            SchemaMismatch: The columns are not those of the stream.
        """
        _refuse_overwrite(overwrite)
        return BatchWriter(write_options(self.options, is_streaming=False), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's
        """Return the writer of a streaming query.

        Raises:
            InvalidRequest: The options are wrong, or each batch would replace all rows.
        """
        _refuse_overwrite(overwrite)
        return StreamWriter(write_options(self.options, is_streaming=True), schema)


class FilteredSource(BraidSource):
    """Data source of which each query is planned by its filters, on the state that the table had when it was loaded.

    Spark asks for the columns when it loads a table, and serializes the object for the queries. So it keeps the state.
    It does not ask if it is given the columns by `.schema(…)`: then no filters are taken, because two parts of one query
    could read two states.
    """

    _state: LoadedState | None = None

    def schema(self) -> StructType:
        """Return the columns, and fix the state to read."""
        columns = super().schema()
        if not names_start(self.options):
            self._state = state_to_read(read_options(self.options))
        return columns

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader, which takes filters."""
        if self._state is None:
            return super().reader(schema)
        planner = ReadPlanner(read_options(self.options), schema, self._state)
        return FilteringReader(planner, schema)


def _refuse_overwrite(overwrite: bool) -> None:
    if overwrite:
        problem = Problem(
            field="mode",
            value="overwrite",
            message="rows of other streams would be lost",
            hint='write with .mode("append") or .outputMode("append"): rows of the same key are merged',
        )
        message = "the format `braid` adds rows"
        raise InvalidRequest(message, problems=[problem])
