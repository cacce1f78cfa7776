"""What a table consists of, as Arrow tables."""
