"""Lookups of rows by primary key at one snapshot.

| modules | what |
|---|---|
| `snapshot_lookup`, `recent_lookups` | the lookup at one snapshot, and the lookups at recent snapshots |
| `snapshot_history` | the files of a snapshot as they were before compactions |
| `value_lookup` | rows by the values of other columns |
| `lookup_keys`, `key_columns` | keys in the table's types |
| `key_routing`, `key_partitions`, `key_buckets` | buckets and partitions of keys, with and without the table's files |
"""
