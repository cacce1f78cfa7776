"""Reads of one snapshot or of a range: scans, their splits, and changes.

| modules | what |
|---|---|
| `scan`, `split_reader`, `snapshot_rows` | a scan, the reader of its splits, and their common base |
| `key_explanation` | versions of one row, and why one of them gives each value |
| `snapshot_source` | the files of a snapshot, and the stores that read them |
| `changes`, `changes_range` | changes of a range of snapshots, and the range |
| `changed_keys` | keys whose rows may have changed since a snapshot |
"""
