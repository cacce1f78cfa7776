"""A real PostgreSQL server whose changes a real Debezium connector captures (`make cdc`).

| module | contents |
|---|---|
| `server` | the server, as a process of its own in a temporary folder |
| `session` | one connection to it, through `psql` |
| `workload` | transactions that overlap, from a seed |
| `captured_events` | the connector, embedded in a Java program (`CapturedEvents.java`), and the events that it sends |
"""
