"""Routes, which parse the request, call the logic, and answer.

| module | what |
|---|---|
| `health` | `/health`, `/ready` |
| `metrics` | `/metrics`, for Prometheus |
| `tables`, `schema_changes` | declaration, list, dropping, maintenance status; schema changes and their history |
| `table_tests` | runs of table tests |
| `fleet` | the streams of all tables, runners, clusters |
| `list_parameters` | the parameters of lists |
| `patches` | changes of declarations by merge patches |
| `table_response`, `stream_response`, `planned_change` | the answers of several routes: a table or a stream with its revision; a dry run |
| `streams` | registration, deletion, dry run, lifecycle verbs, status |
| `batch_verbs` | lifecycle verbs for many streams at once, and their dry run |
| `stream_plans` | dry runs of lifecycle verbs, of the deletion of a stream, and of replays |
| `declarations` | export and import of declarations |
| `offsets` | the position of a stream, shown and set |
| `dead_letters` | dead letters of a stream, and replays of them |
| `pushes`, `push_bodies` | records that are pushed to streams; their bodies by media type |
| `rows` | wide rows by their keys, and their status |
| `completeness` | rows of a table by their states, and the lag of each stream |
| `history` | series of a table and its streams over the last hours |
| `feature_views` | rows of feature views by their keys |
| `lookup_indexes` | rows by the columns of lookup indexes |
| `row_events` | subscriptions to rows, as server-sent events |
| `changes` | changes between snapshots, and consumers |
| `snapshots` | snapshots, tags and compactions of a table |
| `table_operations`, `operations` | requests for long work on a table; its state, progress and result |
| `audit` | the audit log |
| `inspection` | a table's metadata: snapshots, files, partitions and more |
| `console` | the page of the console and its files |
"""
