"""The runner's part in the placement of streams: its heartbeat, and its streams in the assignment."""
