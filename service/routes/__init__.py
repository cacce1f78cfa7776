"""Routes: parsing of the request, calls of the logic, and the answer.

| module | what |
|---|---|
| `health` | `/health`, `/ready` |
| `tables`, `schema_changes` | declaration, list, dropping, maintenance status; schema changes and their history |
| `table_response` | the answer of `tables` and `schema_changes`: the table with its revision |
| `streams` | registration, deletion, dry run, lifecycle verbs, status |
| `offsets` | the position of a stream, shown and set |
| `dead_letters` | dead letters of a stream, and replays of them |
| `rows` | wide rows by their keys, and their status |
| `changes` | changes between snapshots, and consumers |
| `inspection` | snapshots, files, partitions and more |
"""
