"""Captured changes: reads the events of Debezium, Maxwell and Canal as rows with the kind and log position of the change.

Messages of Canal have no log position.

| module | what |
|---|---|
| `changes`, `readers` | the interface of the readers of all formats; the choice of a reader |
| `event_columns` | fields of events by name, and the fault of events whose kind is unknown |
| `debezium_events`, `debezium_json`, `debezium_avro` | Debezium's events: their fields; the reader for JSON; the reader for Avro |
| `unwrapped_rows` | rows of unwrapped events, in which fields of the event are fields of the row |
| `maxwell`, `canal`, `row_texts` | messages of Maxwell; messages of Canal; operations on the JSON texts of their rows |
| `positions` | positions of changes as bytes, whose order is the order of the changes |
| `unavailable_values` | placeholders for large values that a change did not touch |
| `envelopes`, `json_rows` | JSON messages with their schema (envelopes); rows that are JSON objects |
| `row_types` | types of rows whose events have a schema, for columns that a stream adds |
| `canal_types` | types of the rows of Canal's messages, for columns that a stream adds |
| `connect_types`, `unscaled_decimals` | numbers and bytes that a schema declares to be dates, times or decimals; decimals as unscaled values |
"""
