"""Files as the source of a backfill.

| module | what |
|---|---|
| `file_source` | the rows of all files, as records of the stream |
| `source_files`, `row_positions` | the files at an address; the positions of their rows |
| `file_mapping`, `present_fields` | the field of a file that fills each column; columns without a field in CSV files |
| `opened_file`, `damage` | the interface of the readers of all formats; files that cannot be decoded |
| `parquet_file`, `csv_file`, `json_file`, `avro_file` | the formats |
| `text_payloads` | what the readers of CSV, JSON and Avro have in common |
| `text_file`, `text_records` | CSV and JSON files as text, decompressed; their records |
"""
