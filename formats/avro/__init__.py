"""Messages in Avro: bare records of one schema. `formats.registered_reader` reads messages that begin with a schema id.

| module | what |
|---|---|
| `schema`, `names` | the types of a schema, and the rules for its names |
| `cursors`, `leaf_decoder`, `column_decoder`, `joined_columns` | vectorised decoding of many messages at once to columns |
| `exact_decoder` | decoding of one message, for all messages that the vectorised decoding cannot decide |
| `reader` | the reader of bare records of one schema |
"""
