"""Implementation of `braid table export` (declared in `table_cli`): rows of a table state as files of several formats."""
