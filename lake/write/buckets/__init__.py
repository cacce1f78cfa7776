"""Buckets: routing of rows, and dynamic buckets with their hash index."""
