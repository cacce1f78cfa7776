"""The HTTP server: its process, its connections, and the outer layers of every request."""
