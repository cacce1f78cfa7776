"""The maintenance service: compaction and expiry of a catalog's tables, beside readers and writers."""
