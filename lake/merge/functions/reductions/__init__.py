"""Vectorised reductions of aggregate functions, for many keys at once."""
