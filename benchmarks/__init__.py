"""Benchmarks, run on demand: `python -m benchmarks`.

| module | what |
|---|---|
| `__main__` | runs the modules of this folder that have a `run`, by name |
| `write`, `read`, `merge`, `wide`, `file_index`, `arrival`, `kept_columns` | the engine alone; `merge` is the column machine, in memory |
| `parsing`, `change_capture` | messages of streams, by format; captured changes beside plain JSON |
| `variants` | JSON to VARIANT values and back |
| `bad_records` | the slow-down of a task by bad records, by format and kind |
| `bad_stream` | program: the same of a whole stream, from Kafka to the table |
| `backfill` | backfills from files, with and without `--bulk` |
| `backfill_beside` | program: latency of a live stream with and without a backfill beside it |
| `placement` | program: what runners cost with thousands of streams, and how long the streams of a dead one wait |
| `endtoend`, `hostile` | the demo's throughput; the service under hostile requests |
| `compaction/`, `lookup/`, `scan/` | programs: compactions, lookups and scans; all but `lookup/` compare with the Java reference |
| `metadata/` | program: planning, commits and expiry of tables with tens of thousands of files and thousands of columns |
| `serve/` | program: rows over HTTP, one and many, beside the same rows in Redis |
| `merging/` | program: reads of tables whose files have to be merged, beside the Java reference |
| `contention/` | program: 64 writers of one table, beside compaction and expiry |
| `ingest/` | program: ingest from Kafka to the table, with all processes |
| `many_streams/` | program: what thousands of registered streams cost a runner and a service |
| `peers/` | program: commits of several processes to one table, beside pypaimon and paimon-rust; wide rows, beside Spark |
| `peer` | one process, compared with the Java reference: the same rows are written, then read |
| `worker_processes` | the processes of Braid's side of a comparison |
| `order_messages`, `bulk_rows`, `figure`, `machine`, `resident_memory`, `table_costs` | messages, rows, figures, the machine, memory, costs of a table |
"""
