"""Pace of a stream: how fast it writes when compaction is behind."""
