"""Benchmark of merging, compared with the reference implementation: `make bench-merge`."""
