"""Reading: a snapshot in, rows out.

| modules | what |
|---|---|
| `predicate`, `condition_value`, `condition_text` | conditions, their values in a column's type, and their text as SQL |
| `scan_plan`, `split_cut` | the files to read, in splits |
| `pruning`, `value_pruning`, `index_pruning` | what metadata, statistics and file indexes exclude |
| `reader`, `run_reader` | the rows of a split, from sorted runs |
| `snapshot_changes` | the changes of a snapshot |
| `lookup/` | rows by key |
"""
