"""A manifest list: the manifests of a snapshot, as an Avro file.

Source: table-format 5.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lake.format.data_types import DataField
from lake.format.manifest import ManifestEntry
from lake.format.statistics import SimpleStats


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFileMeta:
    """One manifest, as a manifest list describes it.

    Attributes:
        file_name: Name only, inside `manifest/`.
        file_size: Bytes.
        num_added_files: Entries of kind ADD; readers skip looking for them when 0.
        num_deleted_files: Entries of kind DELETE; likewise.
        partition_stats: Over the partition columns of all entries.
        schema_id: Highest schema id of the entries.
        min_bucket: Bounds over the entries; None when unknown.
        max_bucket: As `min_bucket`.
        min_level: As `min_bucket`.
        max_level: As `min_bucket`.
    """

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None


def describe_manifest(
    file_name: str,
    file_size: int,
    entries: Sequence[ManifestEntry],
    partition_fields: Sequence[DataField],
) -> ManifestFileMeta:
    """Return the line of a manifest list for a manifest that holds `entries` (at least one)."""
    raise NotImplementedError


def encode_manifest_list(
    manifests: Sequence[ManifestFileMeta], compression: str = "zstandard"
) -> bytes:
    """Return the bytes of a manifest list; no manifests are a legal list."""
    raise NotImplementedError


def decode_manifest_list(data: bytes) -> list[ManifestFileMeta]:
    """Return the manifests of a list, in file order (oldest first in a base list).

    Raises:
        CorruptData: No Avro file, or one without the fields of a manifest list.
    """
    raise NotImplementedError
