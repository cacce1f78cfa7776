"""The sink of a stream: parsed records become level-0 files in executors, and a commit in the driver."""
