"""Guards in front of every request: its origin, its size, and the number of requests that run at once."""
