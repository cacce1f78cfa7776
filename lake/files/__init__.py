"""Storage and data files: the only code that touches storage.

| modules | what they do |
|---|---|
| `storage/`, `object_store/` | `FileIO`, the protocol of storage, and its implementations |
| `paths`, `data_file_path` | paths of a table's files |
| `data_file_reader`, `open_data_file`, `column_decoder` | reads of a data file of any format |
| `row_filters`, `deleted_rows`, `null_columns`, `column_mapping`, `declared_type` | what of a file is decoded, and as which type |
| `data_file_writer`, `data_file_columns`, `file_limits`, `row_groups`, `file_encoding` | writes of a data file of any format |
| `format_reader`, `format_writer`; `parquet/`, `orc/`, `avro/` | the protocols of one format, and the formats |
| `staged_write`, `best_effort_delete` | nothing is left behind by a write that fails |

The rest of the engine uses data files by way of `data_files`.
"""
