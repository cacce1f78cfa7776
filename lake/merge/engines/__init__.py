"""Merge engines, each for the row machine and, where it differs, for whole batches."""
