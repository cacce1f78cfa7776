"""Is what lies at a path still the table that was opened?

A table can be dropped and another be made under its name while somebody holds the first one. A
snapshot says nothing of the table it belongs to, and both tables number their schemas from 0. What
tells them apart is the schema's file: files of schemas are never written twice, and each holds the
millisecond in which it was made. Two tables whose schemas agree in everything, that millisecond
included, take each other's data files without harm.

A snapshot that was confirmed once is not asked about again, so whoever reads the same newest
snapshot over and over pays nothing, and a commit one small read. Between the look and the
publication another table may still come: dropping a table under its writers loses what they write.
"""

from lake.errors import TableNotFound
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.corruption import corrupt_at
from lake.format.schema import TableSchema, parse_schema
from lake.format.snapshot import Snapshot


class TableIdentity:
    """The table that was opened, as one of its schemas names it; safe between threads."""

    def __init__(self, file_io: FileIO, paths: TablePaths, schema: TableSchema) -> None:
        """Take a schema that was read when the table was opened."""
        self._file_io = file_io
        self._paths = paths
        self._schema = schema
        self._confirmed: Snapshot | None = None

    def confirm(self, snapshot: Snapshot | None) -> None:
        """Check that a snapshot is the opened table's.

        Args:
            snapshot: Read before this call; None when there is none, or none was found.

        Raises:
            TableNotFound: The table is gone, or another one is in its place.
            CorruptData: The schema's file cannot be read.
        """
        if snapshot is not None and snapshot == self._confirmed:
            return
        path = self._paths.schema(self._schema.id)
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            message = f"table {self._paths.identifier} at {self._paths.root} is gone"
            raise TableNotFound(message) from error
        with corrupt_at(path):
            found = parse_schema(data)
        if found != self._schema:
            message = (
                f"table {self._paths.identifier} at {self._paths.root} was dropped, and another is "
                "in its place; open it anew"
            )
            raise TableNotFound(message)
        if snapshot is not None:
            self._confirmed = snapshot
