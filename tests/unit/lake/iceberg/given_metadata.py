"""Iceberg metadata as a reader finds them, and the check that nothing they name is missing."""

import json
from dataclasses import dataclass
from typing import Any

from braid.lake import FileIO, Table
from braid.lake.iceberg.avro_files import decode_list, decode_manifest
from braid.lake.iceberg.manifest_entries import IcebergEntry
from tests.unit.lake.maintenance.given_compactions import PATH, live

STORAGE = "metadata.iceberg.storage"
DIRECTORY = f"{PATH}/metadata"
ON = {STORAGE: "table-location"}


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a reader finds.

    Attributes:
        version: The version that the hint names.
        document: The metadata file of that version.
        entries: Entries of the current snapshot by manifest.
    """

    version: int
    document: dict[str, Any]
    entries: dict[str, tuple[IcebergEntry, ...]]

    @property
    def snapshots(self) -> list[int]:
        return [snapshot["snapshot-id"] for snapshot in self.document["snapshots"]]

    @property
    def current(self) -> int:
        found: int = self.document["current-snapshot-id"]
        return found

    @property
    def names(self) -> list[str]:
        """Return the names of the files that the current snapshot has, sorted."""
        return sorted(
            entry.file.name for found in self.entries.values() for entry in found if entry.is_live
        )

    @property
    def refs(self) -> dict[str, int]:
        return {name: ref["snapshot-id"] for name, ref in self.document["refs"].items()}


def names_in(file_io: FileIO, directory: str = DIRECTORY) -> list[str]:
    return [status.name for status in file_io.list(directory)]


def published(file_io: FileIO, directory: str = DIRECTORY) -> Published:
    """Return what the newest metadata say, all of whose files exist."""
    version = int(file_io.read_bytes(f"{directory}/version-hint.text"))
    document = json.loads(file_io.read_bytes(f"{directory}/v{version}.metadata.json"))
    entries: dict[str, tuple[IcebergEntry, ...]] = {}
    for snapshot in document["snapshots"]:
        entries = {
            manifest.path: decode_manifest(file_io.read_bytes(manifest.path))
            for manifest in decode_list(file_io.read_bytes(snapshot["manifest-list"]))
        }
        for found in entries.values():
            for entry in found:
                assert not entry.is_live or file_io.exists(entry.file.path), (snapshot, entry)
    return Published(version=version, document=document, entries=entries)


def top_files(table: Table) -> list[str]:
    """Return the names of the live files of the highest level, sorted."""
    top = table.schema.table_options.num_levels - 1
    return sorted(entry.file.file_name for entry in live(table) if entry.file.level == top)
