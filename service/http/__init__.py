"""The HTTP server: its sockets, connections and memory; request ids, access log, and rows before the framework (`row_dispatch`)."""
