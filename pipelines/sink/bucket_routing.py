"""Bucket routing: a shuffle after which one task has all records of a bucket.

Used for micro-batches of several tasks. Records of one bucket are then written to one file, whatever the number of
tasks; without the shuffle, every task would write a file of its own into every bucket.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StructField, StructType

from braid.lake import TableSchema, assign_buckets
from braid.pipelines.record_columns import OFFSET, PARTITION, REASON
from braid.pipelines.sink.exact_text import with_exact_texts
from braid.pipelines.sink.table_columns import table_columns
from braid.pipelines.stream_plan import StreamPlan

BUCKET = "bucket"


def route_to_buckets(
    records: DataFrame, *, plan: StreamPlan, schema: TableSchema, tasks: int
) -> DataFrame:
    """Return the records in `tasks` partitions by bucket, each in the order of arrival: by offset, then partition.

    Args:
        records: Records that `parse.RecordParser` returns.
        plan: The stream.
        schema: The schema of the table that the rows will be written to.
        tasks: Number of partitions to make.

    Returns:
        The same columns and `bucket`. Refused records have the bucket 0 and are in the first
        task's partition.
    """
    router = BucketRouter(plan=plan, schema=schema)

    def add_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(router, batches)

    routed = StructType([*records.schema.fields, StructField(BUCKET, IntegerType())])
    return (
        records.mapInArrow(add_bucket, routed)
        .repartitionById(tasks, BUCKET)
        .sortWithinPartitions(OFFSET, PARTITION)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRouter:
    """Adds the bucket to batches of parsed records."""

    plan: StreamPlan
    schema: TableSchema

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with one more column, `bucket`, int32."""
        # A key is routed by its exact text, which is what the task writes.
        batch = with_exact_texts(batch, self.plan)
        buckets = np.zeros(batch.num_rows, dtype=np.int32)
        is_accepted = batch.column(REASON).is_null()
        accepted = batch.filter(is_accepted)
        if accepted.num_rows:
            # A row whose bucket cannot be computed is refused by the task that has to write it; this
            # code only decides which task that is.
            with suppress(Exception):
                keys = table_columns(accepted, self.plan, only=frozenset(self.plan.written.key))
                mask = is_accepted.to_numpy(zero_copy_only=False)
                buckets[mask] = assign_buckets(keys, self.schema)
        return batch.append_column(BUCKET, pa.array(buckets))
