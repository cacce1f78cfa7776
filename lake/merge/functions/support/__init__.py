"""Arithmetic, equality, options and errors that several aggregate functions share."""
