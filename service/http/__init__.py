"""The HTTP server: its sockets, worker processes, connections and memory; request ids, access log, and rows before the framework (`row_dispatch`)."""
