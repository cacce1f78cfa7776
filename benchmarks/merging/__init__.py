"""Merging, line by line, beside the reference implementation: `make bench-merge`."""
