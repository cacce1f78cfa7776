"""Comparison with the other implementations of the format in Python."""
