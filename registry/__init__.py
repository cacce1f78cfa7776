"""The registry: declared and observed state of tables and streams, as documents in the warehouse.

From the top down; the folders import only what is below them:

| module | what |
|---|---|
| `registrar`, `table_registrar` | registration, changes and lifecycle of streams; registration and changes of tables |
| `stream_admission`, `takeover` | completion and checks of a requested stream; takeover of columns from former streams, with fencing |
| `stream_entries` | desired states, and the lifecycle verbs |
| `runner_drains` | drains of runners |
| `replay_requests` | requests to replay dead letters, in the entries of streams |
| `position_setter`, `position_rules` | moves of a stopped stream's position |
| `table_creator`, `table_dropper`, `stopped_streams` | creation and removal of tables; the check that their streams are stopped |
| `effects` | the effects of a change, in words, for dry runs |
| `declaration_import` | import of many declarations |
| `storage_changes` | changes of tags, buckets and snapshots for the audit log |
| `live_fields` | fields of a stream that a running query takes up |
| `declared_table` | declaration and schema of a table as of one moment |
| `alteration/` | changes of registered tables, with their schemas |
| `placement/` | which runner has which stream |
| `rules/` | the rules for declarations of tables and streams |
| `store/` | versioned documents, reports of runners and leases on storage |
| `layout/` | columns and options of the table format for a declaration |
| `names`, `errors` | rules for names; the errors of the registry |
"""
