"""Rescale: rewrites a table for another number of buckets."""
