"""Shared tools of tests: small tables, foreign engines, storage that fails."""
