"""Merge engines: all four for the row machine, and for whole batches those that merge column by column.

| modules | what |
|---|---|
| `merge_function` | the protocol of an engine in the row machine |
| `deduplicate`, `first_row` | engines that choose one record, in the row machine; for whole batches: `column_machine` |
| `aggregation`, `partial_update` | engines that merge column by column, in the row machine |
| `aggregation_columns`, `partial_update_columns` | the same for whole batches |
"""
