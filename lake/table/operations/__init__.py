"""Operations of an opened table, one module for each subject: functions that the facade calls.

| modules | what |
|---|---|
| `reads` | scans, changes, lookups and schemas |
| `explanation` | why a row has its values |
| `writes`, `batch_write` | writers, and batches that are written and committed |
| `schema_alteration` | changes of the schema |
| `compaction`, `rescale`, `expiry` | rewrites of files, and expiry of snapshots |
| `tags`, `rollback`, `consumers` | names of snapshots, return to one, and readers that hold one |
| `iceberg` | Iceberg metadata, after the operations that change the compacted state |
"""
