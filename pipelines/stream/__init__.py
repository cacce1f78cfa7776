"""One stream: its plan, its query, and the supervisor that keeps the query equal to what is wanted."""
