"""The table format: its bytes decoded to values, and these values encoded; pure, no I/O.

The Parquet and ORC files of data are read and written elsewhere (`braid.lake.files`).

| modules | what |
|---|---|
| `schema`, `snapshot`, `tag`, `consumer`, `json_document` | JSON files; JSON objects read and written |
| `manifest`, `manifest_list`, `data_file`, `data_file_codec`, `avro/` | Avro files of metadata, and Avro itself |
| `manifest_index`, `manifest_records` | manifests read block by block, and merged without decoding them |
| `indexes/` | bloom filters of data files; hash indexes, deletion vectors, and the manifest of these |
| `data_types`, `type_codec`, `arrow_types`, `value_limits`, `casts/` | column types, their spelling, Arrow form, limits and casts |
| `binary_row` | binary rows, encoded and decoded with the next two modules |
| `row_words`, `row_columns` | encoding of columns as the words of binary rows, and decoding to columns |
| `bucket`, `partition_path` | the bucket of a row, and the directory of a partition and bucket |
| `variant/` | VARIANT values: from and to JSON |
| `java_text`, `float_order` | Java's spelling and sort order of floating-point numbers |
| `statistics`, `null_counts`, `system_columns`, `commit_message` | bounds and null counts; columns that only data files have, and row kinds; messages to the committer |
| `arrays`, `corruption` | small operations on arrays; errors of decoding |
"""
