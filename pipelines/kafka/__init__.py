"""Kafka as a source: clusters, topics, offsets, lag."""
