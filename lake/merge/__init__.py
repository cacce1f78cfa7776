"""Merging of the records of one key into one row: one definition, two executions.

| modules | what |
|---|---|
| `spec`, `declared_options` | what a table declares about merging, and its options for groups and functions, parsed |
| `fold`, `failing_key` | the entry to both executions, and the key on which they fail |
| `row_machine`, `records`, `plain_values` | the definition, one record at a time; its records; columns as plain Python values and back |
| `single_key` | the records of one key as Python values, merged for a lookup of a single row |
| `explanation` | for each column of a merged row the record that gives its value, and the reasons |
| `order/`, `segments` | the order of rows, and the rows of each key in it |
| `column_machine` | the same result for whole batches; the row machine merges the few keys that the column machine cannot merge |
| `steps`, `key_histories`, `retracts` | the effect of records on a column, on a key, and on a key with retracts |
| `row_reductions`, `group_reduction` | the row that gives the value of a key, and of a sequence group |
| `selection`, `column_parts` | merged rows as references to the records that hold their values, and a column assembled from parts |
| `engines/` | the merge engines of the row machine, and those of `column_machine` that merge column by column |
| `column_function`, `aggregate_function`, `functions/` | aggregate functions: their declaration by a column, their protocol, and the functions themselves |
| `function_definition`, `computed_column` | a column's function: called value by value, and applied to many keys at once |
| `row_expiry` | rows that expire a time after the value of a column |
| `value_checks` | values that do not fit a function, before they are written |
| `compatibility` | the data class of a comparison with the reference, for the docs |

The folder is flat because both executions share `spec`, `selection` and `function_definition`; engines,
functions and orders have folders of their own. What a table may declare is checked in
`braid.lake.declaration`.
"""
