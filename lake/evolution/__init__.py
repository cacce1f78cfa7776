"""How the schema of a table changes: requests, the rules they obey, and the schema that comes of them.

Everything here is pure: values in, values out. `lake.table` reads and publishes schemas.
"""
