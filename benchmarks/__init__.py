"""Benchmarks, run on demand: `python -m benchmarks`."""
