"""Snapshot in, rows out."""
