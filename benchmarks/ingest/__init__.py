"""Ingest on real parts: a Kafka broker, a Spark runner and a service, three JSON topics into a table of 28 columns.

| module | what |
|---|---|
| `__main__` | program: `python -m benchmarks.ingest` |
| `sizes` | sizes of a run, aims |
| `stages`, `throughput`, `latency`, `growth` | the parts |
| `stage_task`, `stage_clock` | the write task with a clock on its stages |
| `bed` | the processes of a run |
| `shape` | topics, table, messages |
| `filling`, `producing` | programs that produce: as much as possible, or at a rate |
| `commit_log` | commits of the table, and figures of them |
| `processes` | processor time and memory of processes |
"""
