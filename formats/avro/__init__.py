"""Messages in Avro: bare records of one schema, or of the schemas that their ids name.

| module | what |
|---|---|
| `schema`, `names` | the types of a schema, and what its names may be |
| `cursors`, `leaf_decoder`, `column_decoder`, `joined_columns` | many messages at once as columns, vectorised |
| `exact_decoder` | one message, exactly |
| `reader` | the reader of a stream's messages |
"""
