"""The only code that touches storage: bytes, names, Parquet files, and exclusive creation."""
