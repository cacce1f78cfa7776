"""Indexes: bloom filters of data files; hash indexes, deletion vectors, and the manifest of these.

| modules | what |
|---|---|
| `index_manifest` | the list of a snapshot's hash indexes and deletion vectors |
| `deletion_vector` | deleted rows of data files |
| `hash_index` | the keys of a dynamic bucket |
| `file_index`, `indexed_columns` | indexes of one data file, and the columns that have one |
| `bloom_filter`, `value_hash` | bloom filters, and the hashes in them |
"""
