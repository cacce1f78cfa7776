"""Deterministic simulation of processes that work on one table at the same time."""
