"""Streams in snapshots: positions, orders of sequence groups, and the exactly-once rule."""
