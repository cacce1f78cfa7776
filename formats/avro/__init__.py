"""Messages in Avro: bare records of one schema. `formats.registered_reader` reads those behind the ids of their schemas.

| module | what |
|---|---|
| `schema`, `names` | the types of a schema, and what its names may be |
| `cursors`, `leaf_decoder`, `column_decoder`, `joined_columns` | many messages at once as columns, vectorised |
| `exact_decoder` | one message, exactly |
| `reader` | the reader of bare records of one schema |
"""
