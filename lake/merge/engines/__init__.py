"""Merge engines, each for the row machine, and for whole batches where columns merge one by one.

| modules | what |
|---|---|
| `merge_function` | the protocol of an engine in the row machine |
| `deduplicate`, `first_row` | engines that choose one record |
| `aggregation`, `partial_update` | engines that merge column by column, in the row machine |
| `aggregation_columns`, `partial_update_columns` | the same for whole batches |
"""
