"""Work of `braid table export`, which `table_cli` declares: rows of a table state as Parquet, CSV, JSON lines or Arrow."""
