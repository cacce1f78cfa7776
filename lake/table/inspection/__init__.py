"""Views of a table's metadata as Arrow tables.

| module | what |
|---|---|
| `inspection` | the views of a table by name, with the reading of its metadata |
| `file_views` | files, buckets, levels and partitions of one snapshot |
| `history_views` | kept snapshots, and compactions |
| `metadata_views` | tags, consumers and schemas |
"""
