"""Writing: rows in, files and commit messages out.

| modules | what |
|---|---|
| `writable` | tables that can be written |
| `table_writer` | the writer of a table |
| `bulk_writer` | the writer that fills an empty table: with sorted runs instead of files of level 0 |
| `rows/`, `buckets/` | checks, kinds and defaults of incoming rows, and their buckets |
| `flush_merge` | the merge of the flushes of one commit |
| `files/` | files of one bucket |
"""
