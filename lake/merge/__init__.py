"""Merging of the records of one key into one row: one definition, two executions.

Reading order: `spec` (what a table declares), `row_machine` (the definition, one record at a time),
`order.key_order` and `segments` (the rows of each key, found by arithmetic), `column_machine` (the same
result for whole batches), `fold` (the entry point to both). What a table may declare is checked in
`braid.lake.declaration`.
"""
