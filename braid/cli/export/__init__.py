"""The command `braid table export`: rows of a table state as Parquet, CSV, JSON lines or Arrow."""
