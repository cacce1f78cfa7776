"""Data source `braid` of Spark: `spark.read.format("braid")`.

Spark calls these methods in other Python processes than the driver's:

    .load()    BraidSource.schema      the columns
    planning   BraidSource.reader      the splits; the snapshot is fixed here
    task       TableReader.read        one split, in Arrow batches

Spark plans a loaded table once, with its first query, and all queries on that DataFrame read the same
splits. Filters that queries push down are therefore not used (decision 0017): rows and columns are
chosen where the table is loaded, by the options `where` and `columns`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from braid.lake import InvalidRequest, Problem, Split, SplitReader
from braid.pipelines.batch_source.read_options import read_options
from braid.pipelines.batch_source.read_plan import columns_to_read, plan_read
from braid.pipelines.spark.spark_types import arrow_form, to_spark_batch
from braid.pipelines.table_changes.change_reader import ChangeReader, change_columns
from braid.pipelines.table_changes.stream_options import names_start, stream_options
from braid.pipelines.table_sink.write_options import write_options
from braid.pipelines.table_sink.writers import BatchWriter, StreamWriter

FORMAT: Final = "braid"


def register(session: SparkSession) -> None:
    """Register the format in a session: `session.read.format("braid")`.

    The workers of the session have to be able to import this package.
    """
    session.dataSource.register(BraidSource)


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
        plan = plan_read(read_options(self.options), schema)
        return TableReader(plan.reader, schema, plan.splits)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of the changes.

        Raises:
            InvalidRequest: The options are wrong, or there is no such table or start, or no changelog of whole rows.
            SchemaMismatch: The table has other columns than `schema`.
        """
        return ChangeReader(stream_options(self.options), schema)

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


class TableReader(DataSourceReader):
    """Reads splits. Serialized for the tasks without its splits.

    Args:
        reader: The reader of the scan.
        schema: The schema that Spark expects.
        splits: The splits, one for each task.
    """

    def __init__(
        self, reader: SplitReader, schema: StructType, splits: Sequence[Split] = ()
    ) -> None:
        self._reader = reader
        self._schema = schema
        self._splits = splits

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the serialized form: what a task needs besides its split."""
        return TableReader, (self._reader, self._schema)

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each split."""
        return [SplitPartition(split) for split in self._splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split."""
        # Without any split Spark makes a partition of its own.
        if not isinstance(partition, SplitPartition):
            return
        wanted = arrow_form(self._schema)
        for batch in self._reader.batches(partition.value):
            yield to_spark_batch(batch, wanted)


class SplitPartition(InputPartition):
    """What one task reads.

    Attributes:
        value: A split.
    """
