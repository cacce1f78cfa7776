"""Metadata of a table on storage: schemas, snapshots, tags, manifests, and the data files that these keep live.

| modules | what |
|---|---|
| `table_store` | all stores of one table together |
| `schema_store`, `snapshot_store`, `changelog_store`, `tag_store` | files that are named by id or name |
| `manifest_store`, `live_files`, `live_state` | manifests, and the files that they leave live |
| `manifest_merge`, `manifest_slice` | how manifests are merged, and ranges of buckets in which sorted ones are |
| `deletion_vectors`, `file_indexes`, `live_table` | index files, and live files with their deletion vectors |
| `metadata_cache`, `lru_cache` | the metadata that a process keeps in memory |
| `consumer_store`, `lease`, `lease_keeper` | readers, which keep snapshots from expiring |
| `lineage`, `rollback_marker`, `removed_history` | which snapshot was built on which, also after a rollback |
| `snapshot_times`, `snapshots_and_changelogs`, `table_identity` | snapshots by commit time; snapshots and long-lived changelogs by id; whether the table is still the one that was opened |

The package is flat: each module is about one kind of metadata file, or one rule about several kinds. The modules
use each other across the rows above, so folders would cut through every operation.
"""
