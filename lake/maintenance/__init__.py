"""Maintenance of tables: compaction, expiry, rescale, rollback, tags and orphan files."""
