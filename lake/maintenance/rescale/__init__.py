"""Rescale of a table to another number of buckets."""
