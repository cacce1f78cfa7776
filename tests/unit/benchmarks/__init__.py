"""Tests of what the benchmarks say."""
