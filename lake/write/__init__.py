"""Rows in, level-0 files out."""
