"""Bucket routing: a shuffle after which one task has all records of a bucket.

Used for micro-batches of several tasks. Records of one bucket are then written to one file, whatever the number of
tasks; without the shuffle, every task would write a file of its own into every bucket.

Records are shuffled as they came from Kafka, and only their keys are read for it: typed rows would cross between
Python and the JVM twice, which costs more than reading the keys once more.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StructField, StructType

from braid.formats.json.key_reader import KeyReader
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import TableSchema, assign_buckets
from braid.pipelines.sink.trial_writes import is_refusal
from braid.records.part_reader import PART_COLUMNS, PartReader
from braid.records.record_columns import KEY, OFFSET, PARTITION, VALUE
from braid.records.stream_plan import StreamPlan

BUCKET = "bucket"


def route_to_buckets(
    records: DataFrame,
    *,
    plan: StreamPlan,
    schema: TableSchema,
    schemas: SchemaSource | None,
    tasks: int,
) -> DataFrame:
    """Return the records in `tasks` partitions by bucket, each in the order of arrival: by offset, then partition.

    Args:
        records: Kafka records (`record_columns`).
        plan: The stream.
        schema: The schema of the table that the rows will be written to.
        schemas: The schemas that messages name; None where the stream's format names no registry.
        tasks: Number of partitions to make.

    Returns:
        The same columns and `bucket`. Records whose key cannot be read have the bucket 0 and are in the first
        task's partition.
    """
    router = BucketRouter(plan=plan, schema=schema, schemas=schemas)

    def add_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(router, batches)

    routed = StructType([*records.schema.fields, StructField(BUCKET, IntegerType())])
    return (
        records.mapInArrow(add_bucket, routed)
        .repartitionById(tasks, BUCKET)
        .sortWithinPartitions(OFFSET, PARTITION)
    )


@dataclass(frozen=True, kw_only=True)
class BucketRouter:
    """Adds the bucket to batches of Kafka records."""

    plan: StreamPlan
    schema: TableSchema
    schemas: SchemaSource | None = None

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with one more column, `bucket`, int32."""
        buckets = np.zeros(batch.num_rows, dtype=np.int32)
        try:
            columns, is_readable = self._keys(batch)
        except Exception as error:
            # A poison record (`poison_records`): the task that has to read it finds it.
            if not is_refusal(error):
                raise
            columns, is_readable = {}, np.zeros(batch.num_rows, dtype=bool)
        if is_readable.any():
            # A row whose bucket cannot be computed is refused by the task that has to write it; this
            # code only decides which task that is.
            with suppress(Exception):
                rows = pa.RecordBatch.from_pydict(columns).filter(pa.array(is_readable))
                buckets[is_readable] = assign_buckets(rows, self.schema)
        return batch.append_column(BUCKET, pa.array(buckets))

    def _keys(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], np.ndarray]:
        """Return the key columns, and whether the whole key of each record can be read."""
        columns: dict[str, pa.Array] = {}
        is_readable = np.ones(batch.num_rows, dtype=bool)
        for reader, names, payload in self._readers:
            # A value that is too long is refused by the task.
            found = reader.read(batch.column(payload))
            is_readable &= ~found.faults.is_faulty
            columns |= zip(names, found.arrays, strict=True)
        if self._parts is not None:
            found = self._parts.read(batch.select(PART_COLUMNS))
            is_readable &= ~found.faults.is_faulty
            columns |= zip(self._parts.names, found.arrays, strict=True)
        for array in columns.values():
            if array.null_count:
                is_readable &= pc.is_valid(array).to_numpy(zero_copy_only=False)
        return columns, is_readable

    @cached_property
    def _parts(self) -> PartReader | None:
        key = frozenset(self.plan.written.key)
        from_parts = [column for column in self.plan.part_columns if column.name in key]
        return PartReader(from_parts, topic=self.plan.spec.topic) if from_parts else None

    @cached_property
    def _readers(self) -> list[tuple[MessageReader | KeyReader, list[str], str]]:
        key = frozenset(self.plan.written.key)
        from_value = [column for column in self.plan.value_columns if column.name in key]
        from_key = [column for column in self.plan.key_columns if column.name in key]
        readers: list[tuple[MessageReader | KeyReader, list[str], str]] = []
        if from_value:
            reader = message_reader(self.plan.spec.format, from_value, schemas=self.schemas)
            readers.append((reader, [c.name for c in from_value], VALUE))
        if from_key:
            readers.append((KeyReader(from_key), [c.name for c in from_key], KEY))
        return readers
