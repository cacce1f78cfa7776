"""Pace of a stream: the interval and size of its micro-batches if compaction is behind, or records are large."""
