"""Reports of backfills: one document per backfill, overwritten every few seconds by its process.

Reports have no versions and are only shown to people. A backfill continues at its position in the table, whatever its
report says.
"""

from collections.abc import Mapping

from pydantic import ValidationError

from braid.lake import Clock, FileIO
from braid.registry.store import paths
from braid.registry.store.observed_ages import ObservedAges
from braid.registry.store.stored_documents import parse_stored
from braid.schemas import BackfillReport


class BackfillReports:
    """Reads and writes the reports of a warehouse."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: The reader's clock.
        """
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self._ages = ObservedAges()

    def write(self, identifier: str, report: BackfillReport) -> None:
        """Replace the report of a backfill."""
        path = paths.backfill_file(self._warehouse, identifier, report.stream, report.name)
        self._file_io.overwrite(path, report.model_dump_json().encode())

    def read(self, identifier: str, stream: str, names: list[str]) -> Mapping[str, BackfillReport]:
        """Return the reports of some backfills of a stream, by name; those that cannot be read are left out.

        `updated_ms` of each is the time by this reader's clock, which is as far back as the report is old.
        """
        found = {}
        for name in names:
            path = paths.backfill_file(self._warehouse, identifier, stream, name)
            try:
                data = self._file_io.read_bytes(path)
                written_ms = self._file_io.modified_ms(path)
                report = parse_stored(BackfillReport, data)
            except (FileNotFoundError, ValidationError):
                continue
            now_ms = self._clock.now_ms()
            if written_ms is None:
                written_ms = report.updated_ms
            age_ms = self._ages.observe(path, data, age_ms=now_ms - written_ms)
            found[name] = report.model_copy(update={"updated_ms": now_ms - age_ms})
        return found
