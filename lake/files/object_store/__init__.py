"""Storage on object stores: S3, Google Cloud Storage, Azure.

| modules | what |
|---|---|
| `address`, `settings` | addresses of stores, and settings of connections |
| `store` | `FileIO` on an object store |
| `input`, `prefetch`, `output` | reading of a file, also of announced ranges, and writing |
| `errors` | which errors of the stores allow a retry, and their translation to those of the engine |
"""
