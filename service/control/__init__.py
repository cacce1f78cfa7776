"""Answers of the routes, without HTTP."""
