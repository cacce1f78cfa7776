"""Kafka clusters and schema registries as operators declare them.

| module | what |
|---|---|
| `clusters_file` | the parser of the operators' file |
| `kafka_clusters` | the clusters of that file, and the permissions of streams on them |
| `push_signatures` | the signatures that pushes to some topics need |
| `secret_references` | references to secrets in that file |
| `stream_options` | options of Kafka's consumer that a stream may set itself |
"""
