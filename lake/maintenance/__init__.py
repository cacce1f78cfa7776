"""Maintenance of tables: compaction, expiry, rescale, rollback, tags and orphan files.

| modules | what |
|---|---|
| `compaction/`, `rescale/` | rewrites of data files |
| `expiry/`, `unreferenced_files` | expiry of snapshots and changelogs, and the files that are unreferenced afterwards |
| `rollback`, `table_tags` | return to an earlier snapshot, and names for snapshots |
| `orphan_files`, `reachable_files` | files that nothing references, and all files that something references |
| `spread_work` | listing and deleting, which other processes or machines may do |
"""
