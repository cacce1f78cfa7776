"""Lookup of keys in data files: their positions and rows, from copies or by row group.

| modules | what |
|---|---|
| `bucket_rows`, `bucket_lookup` | rows of a bucket by key, merged from the records that a search finds |
| `wanted_keys`, `key_hash`, `key_matches` | keys of a lookup, their hashes, and where they were found |
| `point_key`, `python_rows`, `value_getters` | the key of a single row as numbers and bytes; rows as Python values, and the values of one row |
| `key_ranges`, `key_filters` | files excluded by the bounds of keys, and by bloom filters |
| `bucket_files` | files of a bucket, each read from its copy or by row group |
| `row_group_lookup` | lookup in a file without a copy |
| `file_lookup`, `hash_index`, `file_column`, `joint_index` | lookup in the copy of a file: its index and columns, and one index of several files |
| `lookup_cache`, `copy_store`, `copy_space`, `column_file`, `index_file`, `copy_usage`, `lookup_settings`, `background` | the copies of a table and of a catalog, their storage and its files, their sizes, their bounds, and the jobs that make them |
"""
