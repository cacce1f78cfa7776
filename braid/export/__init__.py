"""`braid table export`: the rows of a table's state as files that need no engine."""
