"""Lookup of keys in data files: their positions and rows, from copies or by row group."""
