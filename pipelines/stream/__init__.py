"""One stream: its plan, its query, its pace, and the supervisor that keeps the query equal to its registration."""
