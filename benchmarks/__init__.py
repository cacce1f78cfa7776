"""Benchmarks, run on demand: `python -m benchmarks`.

| module | what |
|---|---|
| `__main__` | runs the modules of this folder that have a `run`, by name |
| `write`, `read`, `merge`, `wide`, `file_index`, `arrival`, `kept_columns` | the engine alone; `merge` is the column machine, in memory |
| `parsing`, `change_capture` | messages of streams, by format; captured changes beside plain JSON |
| `bad_records` | what bad records cost of a task, by format and kind |
| `backfill` | files into the columns of a stream, with and without bulk |
| `backfill_beside` | program: freshness of a live stream with and without a backfill beside it |
| `endtoend`, `hostile` | the demo's throughput; the service under hostile requests |
| `compaction/`, `lookup/`, `scan/` | programs of their own; all but `lookup/` beside the Java reference |
| `merging/` | program: reads of tables that have to be merged, from files, beside the Java reference |
| `ingest/` | program: from Kafka to the table, with every process that takes part |
| `peers/` | program: commits of several processes to one table, beside pypaimon and paimon-rust; wide rows, beside Spark |
| `peer` | one process beside the Java reference: the same rows written, then read |
| `worker_processes` | our side of a comparison in several processes |
| `order_messages`, `bulk_rows`, `figure`, `machine`, `resident_memory`, `table_costs` | messages, rows, figures, the machine, memory, costs of a table |
"""
