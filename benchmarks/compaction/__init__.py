"""Compaction beside the reference implementation: `make bench-compaction`."""
