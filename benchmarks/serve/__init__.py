"""Benchmark of rows over HTTP, the server on one core and the load on another one (`make bench-serve`).

| module | what |
|---|---|
| `__main__` | the command line, the order of the measurements, and the figures |
| `wide_rows` | the table: three streams, 21 value columns, four buckets |
| `questions` | the requests of a kind, as the bytes that are sent |
| `load` | the process that sends requests, as fast as they are answered or at a rate, and measures each answer |
| `server` | the server process: its core, its bound of memory, and the memory it has used |
| `redis_rows` | the same rows in Redis behind the same layers |
| `records_beside` | the process that writes records and compacts meanwhile |
"""
