"""Declarations of the merge engines, one file per engine."""
