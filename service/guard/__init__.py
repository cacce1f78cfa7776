"""Guards in front of every request: checks of its origin, bounds of its size, and of requests that run at once."""
