"""The order of rows: key order, merge order, and columns as normalized keys."""
