"""Numbers, on demand: `python -m benchmarks`."""
