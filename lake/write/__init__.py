"""Writing: rows in, level-0 files and commit messages out.

| modules | what |
|---|---|
| `writable` | tables that can be written |
| `table_writer` | the writer of a table |
| `rows/`, `buckets/` | checks of incoming rows, and their buckets |
| `flush_merge` | the merge of the flushes of one commit |
| `files/` | files of one bucket |
"""
