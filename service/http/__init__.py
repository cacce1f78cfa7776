"""The HTTP server: its sockets, connections and memory; request ids, access log and query parameters."""
