"""An index manifest: every live index file of a snapshot, as an Avro file.

This version builds no index files; it carries those of other writers forward unchanged.

Source: table-format 5.3 and 14.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

DELETION_VECTORS_INDEX: Final = "DELETION_VECTORS"
HASH_INDEX: Final = "HASH"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorRange:
    """Where the deletion vector of one data file lies in an index file.

    Attributes:
        data_file_name: The file whose rows are deleted.
        offset: Bytes into the index file.
        length: Bytes; what they count differs by bitmap kind.
        cardinality: Deleted rows; None when unknown.
    """

    data_file_name: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalIndexMeta:
    """The part of an entry that only global indexes have.

    Attributes:
        row_range_start: First row id covered.
        row_range_end: Last row id covered.
        index_field_id: The indexed column.
        extra_field_ids: Further columns.
        index_meta: Opaque.
        source_meta: Opaque.
    """

    row_range_start: int
    row_range_end: int
    index_field_id: int
    extra_field_ids: tuple[int, ...] | None = None
    index_meta: bytes | None = None
    source_meta: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexManifestEntry:
    """One live index file.

    Attributes:
        kind: 0 in every committed file.
        partition: Serialised binary row of the partition columns.
        bucket: 0 and up.
        index_type: `DELETION_VECTORS`, `HASH`, or the name of a global index.
        file_name: Name only, inside `index/`.
        file_size: Bytes.
        row_count: Deletion vectors or hashes in the file.
        deletion_vector_ranges: Of `DELETION_VECTORS` only, else None.
        external_path: Whole path of an index file outside the table.
        global_index: Of global indexes only.
    """

    kind: int = 0
    partition: bytes
    bucket: int
    index_type: str
    file_name: str
    file_size: int
    row_count: int
    deletion_vector_ranges: tuple[DeletionVectorRange, ...] | None = None
    external_path: str | None = None
    global_index: GlobalIndexMeta | None = None


def encode_index_manifest(
    entries: Sequence[IndexManifestEntry], compression: str = "zstandard"
) -> bytes:
    """Return the bytes of an index manifest with the entries in the given order."""
    raise NotImplementedError


def decode_index_manifest(data: bytes) -> list[IndexManifestEntry]:
    """Return the entries of an index manifest, in file order.

    Raises:
        CorruptData: No Avro file, or one without the fields of an index manifest.
    """
    raise NotImplementedError
