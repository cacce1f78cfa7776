"""Kafka keys of records: which reader reads their columns, and keys that name a schema by id.

| module | what |
|---|---|
| `key_readers` | the choice of a reader |
| `registered_keys` | keys in JSON, Avro and Protobuf behind the ids of their schemas |

Keys without ids are read by `json/key_reader`.
"""
