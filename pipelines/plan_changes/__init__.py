"""Changes of the plan of a running query: a changed declaration or schema, and new fields of the stream."""
