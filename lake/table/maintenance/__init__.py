"""The maintenance service: compaction and expiry of a catalog's tables, beside readers and writers.

| modules | what |
|---|---|
| `maintenance_service` | the service |
| `maintained_table`, `maintenance_stats` | a table under maintenance, and its counts |
| `compaction_scheduler`, `compaction_pool`, `bucket_work` | due buckets, the processes that compact them, and the work on one bucket |
| `expiry_scheduler` | expiry in a thread |
| `failure_backoff` | pauses after failures |
"""
