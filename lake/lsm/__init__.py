"""Sorted runs: which files overlap, and their merge in bounded memory."""
