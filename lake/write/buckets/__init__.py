"""Buckets: routing of rows, and dynamic buckets with their hash index.

| module | what |
|---|---|
| `routing` | rows to their partitions and buckets |
| `dynamic_buckets` | routing by the hash index of a snapshot, and the index files with new keys |
| `partition_buckets` | the bucket of each key in one partition with dynamic buckets |
"""
