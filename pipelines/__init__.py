"""Spark pipelines: the ingest queries, the runner that hosts them, the compaction job, and the batch source.

From the top down; each imports only what is below it:

| module | what |
|---|---|
| `runner_process`, `runner` | the process of a runner; the streams and tables that it hosts |
| `compaction_job` | compaction as a Spark job; needs no runner |
| `batch_source/` | the format `braid` of Spark, and `spark.read` with it; needs no runner |
| `table_sink/`, `table_changes/` | `write` and `writeStream`, and `readStream`, with the same format |
| `placement/` | the runner's heartbeat, and its streams in the assignment |
| `hosted_tables` | compaction and expiry of the tables whose streams a runner hosts |
| `stream/` | one stream: claim, query, mirror, failures, report, supervisor |
| `replay/` | dead letters listed and replayed |
| `sink/` | one micro-batch: rows and dead letters written, and one commit |
| `pace/` | the interval and size of micro-batches if compaction is behind, or records are large |
| `plan_changes/` | changes of the plan of a running query |
| `kafka/` | clusters, topics and offsets |
| `spark/`, `settings`, `held_lease` | Spark's session and jars; the settings of a runner; a lease that a runner takes and renews |
| `metrics` | metrics of a runner process, and whether it is ready |
| `maintenance_requests` | requests of streams to start the next maintenance check early |
"""
