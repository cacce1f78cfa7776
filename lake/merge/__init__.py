"""What several versions of one key become: one definition, two executions.

Reading order: `spec` (what a table declares), `validation` (what it may declare), `row_machine`
(the definition, one record at a time), `key_order` and `segments` (rows of one key found by
arithmetic), `column_machine` (the same answer for whole batches), `fold` (the door to both).
"""
