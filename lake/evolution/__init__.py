"""Schema evolution: changes of a table's schema, the rules for them, and the schema that results.

All of it is pure. `braid.lake.table` reads and publishes schemas.
"""
