"""Declared tables in the terms of the table format: columns, options, aggregate functions."""
