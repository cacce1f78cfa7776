"""The table format: its bytes, and immutable values for them; pure, no I/O."""
