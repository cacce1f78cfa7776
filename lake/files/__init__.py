"""Storage and data files: the only code that touches storage."""
