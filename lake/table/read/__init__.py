"""Reads of one snapshot or of a range: scans, their splits, and changes."""
