"""Changes of the plan of a running query: a changed declaration or schema, and fields that the stream takes in."""
