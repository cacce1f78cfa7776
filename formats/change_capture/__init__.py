"""Captured changes: events of Debezium, Maxwell and Canal to rows, what each is, and (not of Canal) its place in the database's log.

| module | what |
|---|---|
| `changes`, `readers` | the interface of the readers of all formats; the choice of a reader |
| `event_columns` | fields of events by name, and events of no known kind |
| `debezium_events`, `debezium_json`, `debezium_avro` | Debezium's events: what they say; in JSON; in Avro |
| `unwrapped_rows` | rows with fields of their event in them |
| `maxwell`, `canal`, `row_texts` | messages of Maxwell; of Canal; rows in them as texts |
| `positions` | positions of changes as bytes that compare |
| `unavailable_values` | placeholders of values that a change did not touch |
| `envelopes`, `json_rows` | JSON with its schema around it; rows that are JSON |
| `row_types` | types of rows whose events have a schema, for columns that a stream adds |
| `canal_types` | types of the rows of Canal's messages, for columns that a stream adds |
| `connect_types`, `unscaled_decimals` | dates, times and decimals that a schema tells; decimals as bytes |
"""
