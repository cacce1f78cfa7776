"""Spark: sources, transforms, the ingest job, the runner; and the jars and session they need."""
