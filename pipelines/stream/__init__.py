"""One stream: its query, its claim, its report, and the supervisor that keeps the query equal to its registration.

| module | what |
|---|---|
| `stream_supervisor` | compares the desired state with the query: starts, stops, retries |
| `stream_query` | the protocols of a running query and of its starter; whether a query is outdated by a changed registration |
| `ingest_starter`, `ingest` | start of a registered stream's query; the query itself, with Spark's micro-batches |
| `stream_claim` | the epoch that fences earlier queries, and the offsets to start at |
| `group_mirror` | the position in a consumer group, for Kafka's own tools |
| `hosted_stream` | a supervisor and its thread |
| `stream_report`, `dead_letter_counts`, `load_meter` | the stream's part of the runner's report; how much of the time its micro-batches take |
| `failure`, `memory_failure`, `disk_failure`, `failure_log` | classification of failures; failures that too little memory, or a full disk, causes; log lines of repeated failures |
"""
