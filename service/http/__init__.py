"""The HTTP server: its sockets, connections and memory, and the outer layers of every request."""
