"""Spark pipelines: the ingest queries and the runner that keeps them running, the compaction job, the batch source.

From the top down; each imports only what is below it:

| module | what |
|---|---|
| `runner_process`, `runner` | the process of a runner; the streams and tables that it hosts |
| `compaction_job` | compaction as a Spark job; needs no runner |
| `batch_source/` | `spark.read.format("braid")`; needs no runner |
| `hosted_tables` | compaction and expiry of the tables whose streams a runner hosts |
| `stream/` | one stream: claim, query, mirror, failures, report, supervisor |
| `replay/` | dead letters listed and replayed |
| `sink/` | one micro-batch: rows and dead letters written, and one commit |
| `pace/` | the interval and the size of micro-batches when compaction is behind, or records are large |
| `plan_changes/` | how the plan of a running query changes |
| `kafka/` | clusters, topics and offsets |
| `spark/`, `settings`, `held_lease` | Spark's session and jars; bounds and intervals; the right to host a stream |
| `maintenance_requests` | requests of streams for maintenance at once |
"""
