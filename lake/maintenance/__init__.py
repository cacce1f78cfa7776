"""Maintenance of tables: compaction, expiry, rescale, rollback, tags and orphan files.

| modules | what |
|---|---|
| `compaction/`, `rescale/` | rewrites of data files |
| `expiry/`, `unreferenced_files` | expiry of snapshots, and the files that nothing needs after it |
| `rollback`, `table_tags` | return to an earlier snapshot, and names for snapshots |
| `orphan_files`, `reachable_files` | files that no snapshot references, and all that some does |
"""
