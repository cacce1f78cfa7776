"""Reading: a snapshot in, rows out.

| modules | what |
|---|---|
| `predicate`, `condition_value` | conditions, and their values in a column's type |
| `condition_syntax`, `condition_text` | conditions as SQL text: the grammar, and values by the types of columns or fields |
| `scan_plan`, `split_cut` | the files to read, in splits |
| `key_range`, `key_order` | ranges of keys, and the order of keys across buckets |
| `pruning`, `value_pruning`, `index_pruning` | what metadata, statistics and file indexes exclude |
| `expired_files` | expired rows in files, by statistics |
| `reader`, `run_reader` | the rows of a split, from sorted runs |
| `snapshot_changes`, `changed_key_files` | the changes of a snapshot; the files with the keys that it may have changed |
| `lookup/` | rows by key |
"""
