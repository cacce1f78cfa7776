"""The identity of an opened table: detection of a table that was dropped and created anew.

A table can be dropped, and another table created under its path, while a process has the first one open. A snapshot
does not identify its table, and both tables number their schemas from 0. The schema file distinguishes them: schema
files are never overwritten, and each contains the millisecond in which it was created. Two tables whose schemas are
equal, that millisecond included, can read each other's data files without harm.

A check costs one small read, in a commit too; the bytes are parsed once. Further checks cost nothing as long as
the newest snapshot stays the same. Between the check and the publication the table may still be replaced: if a
table is dropped while a process writes to it, the written rows are lost.
"""

from braid.lake.errors import TableNotFound
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.schema import TableSchema, parse_schema
from braid.lake.format.snapshot import Snapshot


class TableIdentity:
    """The table that was opened, identified by one of its schemas; safe between threads."""

    def __init__(self, file_io: FileIO, paths: TablePaths, schema: TableSchema) -> None:
        """Identify a table by a schema that was read when it was opened."""
        self._file_io = file_io
        self._paths = paths
        self._schema = schema
        self._known: bytes | None = None
        self._confirmed: Snapshot | None = None

    def confirm(self, snapshot: Snapshot | None) -> None:
        """Check that a snapshot belongs to the opened table.

        Args:
            snapshot: A snapshot that was read before this call; None if none was found.

        Raises:
            TableNotFound: The table was dropped, or replaced by another one.
            CorruptData: The schema's file cannot be read.
        """
        if snapshot is not None and snapshot == self._confirmed:
            return
        # The schema is read after the snapshot: if it is still the opened table's, the snapshot was too.
        path = self._paths.schema(self._schema.id)
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            message = f"table {self._paths.identifier} at {self._paths.root} is gone"
            raise TableNotFound(message) from error
        # Equal bytes are an equal schema; only the first have to be parsed.
        if data != self._known:
            with corrupt_at(path):
                found = parse_schema(data)
            if found != self._schema:
                message = (
                    f"table {self._paths.identifier} at {self._paths.root} was dropped, and "
                    "another table is in its place; open the table again"
                )
                raise TableNotFound(message)
            self._known = data
        if snapshot is not None:
            self._confirmed = snapshot
