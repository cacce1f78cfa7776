"""Keeping a table small: what is merged and rewritten without changing what readers see."""
