"""Compaction of a table, bucket by bucket."""
