"""Declared and observed state: documents in the warehouse, and the rules they keep."""
