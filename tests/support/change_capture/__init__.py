"""Model of a database whose changes a connector sends to Kafka, and the table that has to come of them.

| module | contents |
|---|---|
| `source_table` | tables of the database, and their rows |
| `database` | transactions that overlap, row locks, and the log in the order of commits |
| `log_places` | places in the logs of PostgreSQL and MySQL, and what events tell of them |
| `change_event` | one event, and its messages as Debezium writes them in JSON |
| `connector` | snapshots, streaming, restarts, incremental snapshots: the events in the order in which they are sent |
| `topic` | partitions, tombstones lost and repeated, late deliveries |
| `message_forms` | the same records with envelopes, unwrapped, and in Avro |
| `newest_rows` | the newest state of each key of what the events say |
| `change_capture` | all of it together, from a seed |

The model knows nothing of the product: it orders events by the number of their transaction's commit, which no event
tells.
"""
