"""Kafka keys of records: the choice of the reader of their columns, and the readers of keys that name a schema by id.

| module | what |
|---|---|
| `key_readers` | the choice of a reader |
| `registered_keys` | keys in JSON, Avro and Protobuf that begin with the id of their schema |

Keys without ids are read by `json/key_reader`.
"""
