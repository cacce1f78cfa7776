"""Streams in snapshots: positions, the order of sequence groups, and the exactly-once rule."""
