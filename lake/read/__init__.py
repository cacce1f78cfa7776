"""Reading: a snapshot in, rows out."""
