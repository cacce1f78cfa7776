"""Pace of a stream: interval and size of its micro-batches when compaction is behind, or records are large."""
