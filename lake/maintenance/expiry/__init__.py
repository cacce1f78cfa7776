"""Expiry of snapshots and changelogs, and deletion of the files that only they need.

| modules | what |
|---|---|
| `table_expiry`, `expiry_result` | one run of expiry, and its result |
| `expiry_plan`, `expiry_holds` | which snapshots expire, and what keeps them |
| `snapshot_expiry`, `changelog_expiry` | expiry of snapshots, then of the changelogs that outlived them |
| `newest_state`, `retained_snapshots` | the files of snapshots that stay |
| `file_removal` | deletion of the unreferenced files |
"""
