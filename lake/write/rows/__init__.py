"""Incoming rows: checks, row kinds, defaults, and retracts without values."""
