"""Messages in Protobuf: bare messages of one type, or of the schemas that their ids name.

| module | what |
|---|---|
| `schema` | the types of a descriptor set |
| `native_messages` | one message as native values |
| `reader` | the reader of a stream's messages |
"""
