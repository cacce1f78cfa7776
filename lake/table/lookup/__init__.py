"""Lookups of rows by primary key at one snapshot."""
