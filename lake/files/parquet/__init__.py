"""Parquet data files.

| modules | what |
|---|---|
| `schema` | the Arrow schema of a file |
| `writer`, `encoding` | writes, and the choice of encodings |
| `reader`, `bounds` | reads, and statistics of row groups |
| `int96`, `int96_file`, `thrift_compact` | timestamps of nanoseconds, which need a footer of our own |
"""
