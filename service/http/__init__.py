"""The HTTP server: its process, its connections, and what every request passes."""
