"""Storage and data files: the only code that touches storage.

| modules | what |
|---|---|
| `storage/`, `object_store/` | `FileIO`, the protocol of storage, and its implementations |
| `clock` | sources of time |
| `paths`, `data_file_path` | paths of a table's files |
| `data_file_reader`, `open_data_file`, `column_decoder`, `read_counters` | reads of a data file of any format, and their cost |
| `row_filters`, `deleted_rows`, `null_columns`, `column_mapping`, `declared_type` | which rows and columns of a file are decoded, and to which types |
| `data_file_writer`, `data_file_columns`, `file_limits`, `row_groups`, `file_encoding` | writes of a data file of any format |
| `format_reader`, `format_writer`, `parquet/`, `orc/`, `avro/` | the protocols of one format, and the formats |
| `staged_write`, `best_effort_delete` | removal of the files of operations that fail or give up |
| `data_files` | the classes and functions for data files that the rest of the engine imports |

The implementations of a protocol are in folders: those of storage in `storage/` and
`object_store/`, those of the formats in `parquet/`, `orc/` and `avro/`.
"""
