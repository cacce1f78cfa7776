"""Benchmark of ingest: three JSON topics into a table of 28 columns, with a real Kafka broker, Spark runner and service.

| module | what |
|---|---|
| `__main__` | program: `python -m benchmarks.ingest` |
| `sizes` | sizes of a run, aims |
| `stages`, `throughput`, `latency`, `growth`, `isolation` | the five measurements |
| `stage_task`, `stage_clock` | the write task with a clock for its stages |
| `bed` | the processes of a run |
| `shape` | topics, table, messages |
| `filling`, `producing` | programs that produce messages, as fast as possible or at a given rate |
| `commit_log` | commits of the table, and figures of them |
| `served_log` | times at which the service began to serve snapshots |
| `processes` | processor time and memory of processes |
"""
