"""Comparison with other software for the same work: implementations of the table format, and joins and merges on Spark.

| module | what |
|---|---|
| `__main__` | program: `python -m benchmarks.peers` |
| `race`, `race_worker` | simultaneous commits of several processes, compared with pypaimon and paimon-rust |
| `wide_rows` | three topics into wide rows: Braid, a stream-stream join, `MERGE INTO` Delta and Iceberg |
| `spark_side` | runs of a peer on Spark: its environment and jars, and the resources that it used |
| `spark_worker` | the program that such a run starts |
| `wide_report` | figures and ratios of the sides |
"""
