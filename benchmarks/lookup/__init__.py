"""Benchmark of lookups by primary key: present and missing keys, one and many at a time, in process and over HTTP.

The first lookups read files that have no local copy yet.
"""
