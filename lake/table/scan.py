"""A scan of a table at one snapshot."""

from collections.abc import Iterator

import pyarrow as pa

from lake.read.scan import ScanPlan


class Scan:
    """Rows of a table at one snapshot, chosen by columns and conditions."""

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of the rows this scan gives."""
        raise NotImplementedError

    def plan(self) -> ScanPlan:
        """Return the files to read; planned once."""
        raise NotImplementedError

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches, in memory bounded by batch size times runs."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Return all rows as one table."""
        raise NotImplementedError

    def count(self) -> int:
        """Return the number of rows; reads no file whose metadata says it all."""
        raise NotImplementedError
