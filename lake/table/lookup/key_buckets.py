"""Buckets of keys as a writer would choose them, without knowledge of the table's files."""

import numpy as np

from braid.lake.format.binary_row import EMPTY_ROW, encode_rows
from braid.lake.format.bucket import BucketId, bucket_hashes, buckets_of
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import BucketFunction
from braid.lake.table.lookup.lookup_keys import KeyArrays


def own_buckets(keys: KeyArrays, schema: TableSchema) -> frozenset[BucketId] | None:
    """Return the buckets that keys belong to by the newest count; None if keys do not tell.

    Keys with a null are in no bucket.

    Args:
        keys: The columns of the primary key, in the table's types, by name.
        schema: The table's schema.
    """
    options = schema.table_options
    is_routed = options.bucket >= 1 and options.bucket_function_type is BucketFunction.DEFAULT
    if not is_routed or not set(schema.partition_keys) <= set(schema.primary_keys):
        return None
    complete = np.ones(len(next(iter(keys.values()))), dtype=bool)
    for column in keys.values():
        complete &= np.asarray(column.is_valid(), dtype=bool)
    fields = [schema.field(name) for name in schema.bucket_keys]
    hashes = bucket_hashes([keys[field.name] for field in fields], fields)
    partitions = [EMPTY_ROW] * len(complete)
    if schema.partition_fields:
        columns = [keys[field.name] for field in schema.partition_fields]
        partitions = encode_rows(columns, schema.partition_fields)
    numbers = buckets_of(hashes, options.bucket).tolist()
    return frozenset(
        bucket_id
        for bucket_id, is_whole in zip(
            zip(partitions, numbers, strict=True), complete.tolist(), strict=True
        )
        if is_whole
    )
