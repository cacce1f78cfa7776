"""JSON: messages and Kafka keys to the columns of a stream.

| module | what |
|---|---|
| `message_reader`, `key_reader` | columns and faults of a batch of messages; of Kafka keys |
| `registered_reader` | messages that begin with the id of a schema |
| `typed_decoder`, `typed_columns` | the fast decoder of usual messages; the decoding of the values of each column |
| `exact_values`, `message` | the exact reader of one value; the parser of a message to Python values |
"""
