"""Guides, reference pages and decisions; and what makes the reference pages from the code."""
