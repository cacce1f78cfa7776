"""One stream: its query, its claim, its report, and the supervisor that keeps the query equal to its registration."""
