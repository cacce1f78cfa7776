"""Benchmark of lookups by primary key: present and missing keys, and files that are cold."""
