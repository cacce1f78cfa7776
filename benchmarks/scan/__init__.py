"""Benchmark of scans of compacted and of growing tables, compared with other readers of the same files."""
