"""Directories of partitions and buckets."""

from lake.format.schema import TableSchema


def partition_directory(partition: bytes, schema: TableSchema) -> str:
    """Return `p=a/q=b`, or `` for an unpartitioned table."""
    raise NotImplementedError


def bucket_directory(partition: bytes, bucket: int, schema: TableSchema) -> str:
    """Return `p=a/q=b/bucket-0`."""
    raise NotImplementedError
