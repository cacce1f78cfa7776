"""Rows that are Arrow arrays already, such as those of Parquet files.

| module | what |
|---|---|
| `leaves` | Arrow types as kinds of native values |
| `reader` | the columns of a stream from such rows |
"""
