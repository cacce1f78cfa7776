"""Spark pipelines: the ingest queries and the runner that keeps them running, the compaction job, the batch source."""
