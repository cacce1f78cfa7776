"""Storage on object stores: S3, Google Cloud Storage, Azure.

| modules | what |
|---|---|
| `address`, `settings` | addresses of stores, and settings of connections |
| `store` | `FileIO` on an object store |
| `input`, `prefetch`, `output` | reading, reading ahead, and writing of a file |
| `errors` | translation of the stores' errors to those of the engine |
"""
