"""Rescale of a table to another number of buckets.

| modules | what |
|---|---|
| `table_rescale`, `rescale_result` | rescale of a table, and its result |
| `rescale_plan`, `rescale_groups` | units of files that are rewritten together, and the new buckets of one pass |
| `rescale_writer` | rewriting of files of old buckets as files of new buckets |
"""
