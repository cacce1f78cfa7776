"""Store of the schema files of a table, which reads and creates them."""

import threading

from braid.lake.errors import InvalidRequest
from braid.lake.files.paths import SCHEMA_PREFIX, TablePaths, listed_ids
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.schema import TableSchema, parse_schema, serialize_schema


class SchemaStore:
    """Reads and creates schema files; safe to share between threads.

    The id of the newest schema is listed every time; schema files are immutable and cached.
    """

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths
        self._schemas: dict[int, TableSchema] = {}
        self._lock = threading.Lock()

    def latest_id(self) -> int | None:
        """Return the highest schema id, or None if the directory is not a table. One listing."""
        return max(self.ids(), default=None)

    def ids(self) -> list[int]:
        """Return all schema ids, ascending. One listing."""
        return listed_ids(self._file_io, self._paths.schema_dir, SCHEMA_PREFIX)

    def latest(self) -> TableSchema | None:
        """Return the newest schema, or None if the directory is not a table.

        Raises:
            CorruptData: The file cannot be read.
        """
        newest = self.latest_id()
        return None if newest is None else self.get(newest)

    def get(self, schema_id: int) -> TableSchema:
        """Return one schema.

        Raises:
            InvalidRequest: No such schema; the message lists the existing ones.
            CorruptData: The file cannot be read.
        """
        with self._lock:
            known = self._schemas.get(schema_id)
        if known is not None:
            return known
        try:
            data = self._file_io.read_bytes(self._paths.schema(schema_id))
        except FileNotFoundError as error:
            message = (
                f"table {self._paths.root} has no schema {schema_id}, found {self.ids() or 'none'}"
            )
            raise InvalidRequest(message) from error
        with corrupt_at(self._paths.schema(schema_id)):
            schema = parse_schema(data)
        with self._lock:
            self._schemas[schema_id] = schema
        return schema

    def create(self, schema: TableSchema) -> bool:
        """Create schema `schema.id` exclusively.

        Returns:
            True if the schema is the table's newest now. False if another writer has created a schema of
            that id; read that one and plan the change again.
        """
        data = serialize_schema(schema)
        path = self._paths.schema(schema.id)
        if self._file_io.create_exclusive(path, data):
            return True
        # A store that repeats requests by itself may refuse the repetition of a request that succeeded.
        return self._file_io.read_bytes(path) == data
