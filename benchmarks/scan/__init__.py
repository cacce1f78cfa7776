"""Scans: how fast rows of compacted and of growing tables are read, beside others on the same files."""
