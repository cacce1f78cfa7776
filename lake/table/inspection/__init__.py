"""Views of a table's metadata as Arrow tables."""
