"""Comparison with what others use for the same work: implementations of the format, and ways to wide rows on Spark.

| module | what |
|---|---|
| `__main__` | program: `python -m benchmarks.peers` |
| `race`, `race_worker` | commits of several processes at once, beside pypaimon and paimon-rust |
| `wide_rows` | three topics into wide rows: Braid, a stream-stream join, `MERGE INTO` Delta and Iceberg |
| `spark_side` | a peer on Spark as a process: its environment, its jars, what it used |
| `spark_worker` | the program of such a process |
| `wide_report` | figures and ratios of the sides |
"""
