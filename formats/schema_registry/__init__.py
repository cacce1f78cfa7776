"""Schema registries with Confluent's interface: the schemas that messages name by id. No Spark.

| module | what |
|---|---|
| `schema_source` | the interface to schemas by id |
| `named_registry`, `registry_tables` | a registry as operators declare it, and its table in their file |
| `registry_connection` | addresses and login of a registry, with its secrets |
| `registry_client` | requests to a registry, with one deadline for each address that is asked |
| `schema_cache`, `recent_entries` | the process's cache of schemas, each with the schemas that it references |
| `registry_schemas` | the source of schemas that is passed to readers |
"""
