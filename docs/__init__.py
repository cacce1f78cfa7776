"""Guides, reference pages and decisions, and the generator of reference pages."""
