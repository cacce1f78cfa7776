"""Rescaling: a table is rewritten for another number of buckets."""
