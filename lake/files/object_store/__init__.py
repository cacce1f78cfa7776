"""Storage on object stores: S3, Google Cloud Storage, Azure.

| modules | what |
|---|---|
| `address`, `settings` | addresses of stores, and settings of connections |
| `store` | `FileIO` on an object store |
| `input`, `prefetch`, `output` | files that are read, read ahead, and written |
| `errors` | the stores' errors as those of the engine |
"""
