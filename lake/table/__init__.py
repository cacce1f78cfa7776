"""Public facade of the engine: catalog, table and scan."""

from braid.lake.table.catalog import Catalog
from braid.lake.table.read.scan import Scan
from braid.lake.table.table import Table

__all__ = ["Catalog", "Scan", "Table"]
