"""Benchmark of many writers of one table: processes that own a stream each, beside compaction and expiry."""
