"""Public facade of the engine: catalog, table and scan.

| modules | what |
|---|---|
| `catalog` | tables of a warehouse |
| `table`, `readable_table`, `branches` | the methods of a table that change it, plan changes and list schemas; all others, which only read; the refusal to change a branch |
| `arguments` | checks of the arguments |
| `opened_table` | what the methods share: schema, stores and caches |
| `operations/` | what the methods do, by subject |
| `read_at`, `readable_state` | the state that a read asks for, and the snapshot and schema found for it |
| `read/`, `lookup/`, `inspection/` | scans and changes, rows by key, views of metadata |
| `maintenance/` | the maintenance service |
"""

from braid.lake.table.catalog import Catalog
from braid.lake.table.read.scan import Scan
from braid.lake.table.table import Table

__all__ = ["Catalog", "Scan", "Table"]
