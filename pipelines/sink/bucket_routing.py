"""Bucket routing: a shuffle after which one task has all records of a bucket.

It is used for micro-batches of several tasks. Without the shuffle, every task would write its own files into every
bucket. A record whose key cannot be read is sent to the first task.

Records are shuffled as they came from Kafka; only their keys are read before. They are shuffled in chunks
(`record_chunks`), since Spark takes longer to handle a row than Python takes to read a message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from braid.formats.change_capture.changes import ChangeReader
from braid.formats.change_capture.envelopes import open_envelopes
from braid.formats.declared_digits import with_declared_digits
from braid.formats.keys.key_readers import RecordKeyReader, key_reader
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import TableSchema, assign_buckets
from braid.pipelines.sink.gathered_batches import gather_batches
from braid.pipelines.sink.record_chunks import (
    CHUNK_COLUMNS,
    FIRST_OFFSET,
    FIRST_PARTITION,
    TASK,
    pack_chunks,
)
from braid.records.part_reader import PART_COLUMNS, PartReader
from braid.records.poison_records import poison_rows
from braid.records.record_columns import KEY, VALUE
from braid.records.stream_plan import StreamPlan
from braid.records.trial_writes import find_refused_rows, is_refusal
from braid.records.value_readers import reader_of_changes


def route_to_tasks(
    records: DataFrame,
    *,
    plan: StreamPlan,
    schema: TableSchema,
    schemas: SchemaSource | None,
    tasks: int,
) -> DataFrame:
    """Return the records as chunks (`record_chunks`) in `tasks` partitions by bucket.

    Args:
        records: Kafka records (`record_columns`).
        plan: The stream.
        schema: The schema of the table that the rows will be written to.
        schemas: The schemas that messages name; None where the stream's format names no registry.
        tasks: Number of partitions to make.

    Returns:
        Chunks, those of a partition by their first offset, then partition. Records whose key cannot be read, or has
        no bucket, have the bucket 0 and are in the first task's partition.
    """
    router = BucketRouter(plan=plan, schema=schema, schemas=schemas)

    def chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in gather_batches(batches):
            yield pack_chunks(batch, router.buckets_of(batch) % tasks)

    return (
        records.mapInArrow(chunks, CHUNK_COLUMNS)
        .repartitionById(tasks, TASK)
        .sortWithinPartitions(FIRST_OFFSET, FIRST_PARTITION)
    )


class _ChangedRows:
    """Reads the key of captured changes, each of which is one row."""

    def __init__(self, changes: ChangeReader, columns: Sequence[MappedColumn]) -> None:
        self._changes = changes
        self._rows = changes.rows(columns)
        self._deletes = changes.rows(columns, of_deletes=True)

    def read(self, payloads: pa.BinaryArray, keys: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of changes, null where one has no row."""
        changes = self._changes.read(self._changes.open(payloads), keys)
        nothing, is_delete = pa.scalar(None, changes.rows.type), pa.array(changes.is_delete)
        found = self._rows.read(pc.if_else(is_delete, nothing, changes.rows))
        if not changes.is_delete.any():
            return found
        deletes = self._deletes.read(pc.if_else(is_delete, changes.rows, nothing))
        found.faults.add_found(deletes.faults)
        pairs = zip(deletes.arrays, found.arrays, strict=True)
        return replace(found, arrays=[pc.if_else(is_delete, *pair) for pair in pairs])


@dataclass(frozen=True, kw_only=True)
class BucketRouter:
    """Computes the buckets of Kafka records from their keys."""

    plan: StreamPlan
    schema: TableSchema
    schemas: SchemaSource | None = None

    def buckets_of(self, batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
        """Return the bucket of each record, 0 where its key cannot be read, or has no bucket.

        Args:
            batch: Records (`record_columns`).
        """
        try:
            return self._buckets(batch)
        except Exception as error:
            if not is_refusal(error):
                raise
            # All others keep their buckets: where rows are ordered as a whole, one task orders those of a key.
            is_poison = np.zeros(batch.num_rows, dtype=bool)
            is_poison[list(poison_rows(batch, self._buckets, error))] = True
            buckets = np.zeros(batch.num_rows, dtype=np.int32)
            buckets[~is_poison] = self._buckets(batch.filter(pa.array(~is_poison)))
            return buckets

    def _buckets(self, batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
        buckets = np.zeros(batch.num_rows, dtype=np.int32)
        columns, is_readable = self._keys(batch)
        if is_readable.any():
            rows = pa.Table.from_pydict(columns).filter(pa.array(is_readable))
            buckets[is_readable] = self._assigned(rows)
        return buckets

    def _assigned(self, rows: pa.Table) -> npt.NDArray[np.int32]:
        """Return the bucket of each key, 0 where none can be computed.

        The task that such a row comes to refuses it; all others keep their buckets.
        """
        try:
            return assign_buckets(rows, self.schema)
        except Exception as error:
            if not is_refusal(error):
                raise
        refused = find_refused_rows(rows, lambda some: assign_buckets(some, self.schema))
        is_kept = np.ones(rows.num_rows, dtype=bool)
        is_kept[list(refused)] = False
        buckets = np.zeros(rows.num_rows, dtype=np.int32)
        buckets[is_kept] = assign_buckets(rows.filter(pa.array(is_kept)), self.schema)
        return buckets

    def _keys(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], np.ndarray]:
        """Return the key columns, and whether the whole key of each record can be read."""
        columns: dict[str, pa.Array] = {}
        is_readable = np.ones(batch.num_rows, dtype=bool)
        for found, names in self._read_keys(batch):
            is_readable &= ~found.faults.is_faulty
            columns |= zip(names, found.arrays, strict=True)
        if self._parts is not None:
            found = self._parts.read(batch.select(PART_COLUMNS))
            is_readable &= ~found.faults.is_faulty
            columns |= zip(self._parts.names, found.arrays, strict=True)
        for array in columns.values():
            if array.null_count:
                is_readable &= pc.is_valid(array).to_numpy(zero_copy_only=False)
        types = {column.name: column.type for column in self.plan.columns}
        cut = {name: with_declared_digits(array, types[name]) for name, array in columns.items()}
        return cut, is_readable

    @cached_property
    def _parts(self) -> PartReader | None:
        key = frozenset(self.plan.written.key)
        from_parts = [column for column in self.plan.part_columns if column.name in key]
        return PartReader(from_parts, topic=self.plan.spec.topic) if from_parts else None

    def _read_keys(self, batch: pa.RecordBatch) -> Iterator[tuple[ReadMessages, list[str]]]:
        """Yield what values and Kafka keys hold of the key, with the names of the columns."""
        from_value, from_key = self._key_columns
        names = [column.name for column in from_value]
        # A value that is too long is refused by the task.
        if isinstance(self._values, _ChangedRows):
            yield self._values.read(batch.column(VALUE), batch.column(KEY)), names
        elif self._values is not None:
            yield self._values.read(batch.column(VALUE)), names
        if self._keys_of_records is not None:
            keys = batch.column(KEY)
            if self.plan.spec.captures_changes:
                keys = open_envelopes(keys).payloads
            yield self._keys_of_records.read(keys), [column.name for column in from_key]

    @cached_property
    def _key_columns(self) -> tuple[list[MappedColumn], list[MappedColumn]]:
        """The columns of the key that are read from the value, and from the Kafka key."""
        key, plan = frozenset(self.plan.written.key), self.plan
        from_value, from_key = (
            [column for column in columns if column.name in key]
            for columns in (plan.value_columns, plan.key_columns)
        )
        return from_value, from_key

    @cached_property
    def _values(self) -> MessageReader | _ChangedRows | None:
        """The reader of the key in the value."""
        columns, _ = self._key_columns
        if not columns:
            return None
        changes = reader_of_changes(self.plan, self.schemas)
        if changes is not None:
            return _ChangedRows(changes, columns)
        return message_reader(
            self.plan.spec.format, columns, fields=self.plan.fields, schemas=self.schemas
        )

    @cached_property
    def _keys_of_records(self) -> RecordKeyReader | None:
        """The reader of the key in the Kafka key."""
        _, columns = self._key_columns
        return key_reader(columns, self.plan.spec.key_format, self.schemas) if columns else None
