"""Reports of backfills: one document per backfill, overwritten every few seconds by its process.

Not versioned, and nothing depends on them but what people are shown: how far a backfill is stands in the table.
"""

from collections.abc import Mapping

from pydantic import ValidationError

from braid.lake import FileIO
from braid.registry.store import paths
from braid.registry.store.stored_documents import parse_stored
from braid.schemas import BackfillReport


class BackfillReports:
    """Reads and writes the reports of a warehouse."""

    def __init__(self, file_io: FileIO, warehouse: str) -> None:
        self._file_io = file_io
        self._warehouse = warehouse

    def write(self, identifier: str, report: BackfillReport) -> None:
        """Replace the report of a backfill."""
        path = paths.backfill_file(self._warehouse, identifier, report.stream, report.name)
        self._file_io.overwrite(path, report.model_dump_json().encode())

    def read(self, identifier: str, stream: str, names: list[str]) -> Mapping[str, BackfillReport]:
        """Return the reports of some backfills of a stream, by name; those that cannot be read are left out."""
        found = {}
        for name in names:
            path = paths.backfill_file(self._warehouse, identifier, stream, name)
            try:
                found[name] = parse_stored(BackfillReport, self._file_io.read_bytes(path))
            except (FileNotFoundError, ValidationError):
                continue
        return found
