"""JSON: messages and Kafka keys to the columns of a stream.

| module | what |
|---|---|
| `message_reader`, `key_reader` | columns and faults of a batch of messages; of Kafka keys |
| `registered_reader` | messages that begin with the id of a schema |
| `typed_decoder`, `typed_columns` | usual messages, fast: the fields of an object; the values of a column |
| `exact_values`, `message` | one value exactly, or its fault; a message as values of Python |
"""
