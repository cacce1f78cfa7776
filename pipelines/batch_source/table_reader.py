"""Readers of a table as Spark calls them: one plans a query beside the driver, and becomes the other one in its tasks."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from braid.lake import Condition, SplitReader
from braid.pipelines.batch_source.pushed_filters import push_filters
from braid.pipelines.batch_source.read_plan import ReadPlan, ReadPlanner
from braid.pipelines.spark.spark_types import arrow_form, to_spark_batch


class SplitPartition(InputPartition):
    """What one task reads.

    Attributes:
        value: A split.
    """


class TaskReader(DataSourceReader):
    """Reads splits.

    Args:
        reader: The reader of the scan.
        schema: The columns that Spark expects.
    """

    def __init__(self, reader: SplitReader, schema: StructType) -> None:
        self._reader = reader
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split."""
        # Without any split Spark makes a partition of its own.
        if not isinstance(partition, SplitPartition):
            return
        wanted = arrow_form(self._schema)
        for batch in self._reader.batches(partition.value):
            yield to_spark_batch(batch, wanted)


class TableReader(DataSourceReader):
    """Plans a query.

    Args:
        planner: Plans it.
        schema: The columns that Spark expects.
    """

    def __init__(self, planner: ReadPlanner, schema: StructType) -> None:
        self._planner = planner
        self._schema = schema
        self._conditions: Sequence[Condition] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the serialized form: what a task needs besides its split."""
        return TaskReader, (self._plan.reader, self._schema)

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each split."""
        return [SplitPartition(split) for split in self._plan.splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split."""
        return TaskReader(self._plan.reader, self._schema).read(partition)

    # Spark serializes a reader before it asks for its partitions.
    @cached_property
    def _plan(self) -> ReadPlan:
        return self._planner.plan(self._conditions)


class FilteringReader(TableReader):
    """Plans a query by its filters."""

    def pushFilters(self, filters: list[Filter]) -> Sequence[Filter]:  # noqa: N802 - Spark's name
        """Take the filters that the scan evaluates, and return the others."""
        pushed = push_filters(filters, self._planner.schema)
        self._conditions = pushed.conditions
        return pushed.left
