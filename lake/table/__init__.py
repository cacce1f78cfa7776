"""Public facade of the engine: catalog, table and scan."""

from lake.table.catalog import Catalog
from lake.table.read.scan import Scan
from lake.table.table import Table

__all__ = ["Catalog", "Scan", "Table"]
