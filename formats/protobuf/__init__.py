"""Messages in Protobuf: bare messages of one type, or of the types of a registered file.

`formats.registered_reader` reads messages that begin with the id of their schema.

| module | what |
|---|---|
| `schema`, `errors` | the types of a descriptor set or of a registered file; the errors of schemas |
| `proto_file` | the parser of `.proto` files |
| `native_messages` | one message as native values |
| `reader` | the reader of bare messages of one type |
| `indexed_types`, `indexed_reader` | the types of a file by their place in it; the reader of messages that name their type by its place in a file |
"""
