"""A manifest: data files added to and deleted from a table, as an Avro file.

The state of a table is the set of added files whose identity is not deleted as well, in whatever
order the entries are read.

Source: table-format 5.2 and 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from lake.format.data_file import DataFileMeta

# partition, bucket, level, file name, extra files, embedded index, external path
FileIdentity = tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]


class FileKind(IntEnum):
    """Whether an entry brings a file into the table or takes it out."""

    ADD = 0
    DELETE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """One file added or deleted.

    Attributes:
        kind: Added or deleted.
        partition: Serialised binary row of the partition columns; `EMPTY_ROW` without any.
        bucket: 0 and up.
        total_buckets: Bucket count of the table when the file was written; -1 dynamic.
        file: The file.
    """

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta

    @property
    def identity(self) -> FileIdentity:
        """Return what makes an ADD and a DELETE meet; the level is part of it."""
        file = self.file
        return (
            self.partition,
            self.bucket,
            file.level,
            file.file_name,
            file.extra_files,
            file.embedded_file_index,
            file.external_path,
        )


def encode_manifest(entries: Sequence[ManifestEntry], compression: str = "zstandard") -> bytes:
    """Return the bytes of a manifest file with the entries in the given order.

    Args:
        entries: Any number, also none.
        compression: `zstandard`, `deflate` or `null`.
    """
    raise NotImplementedError


def decode_manifest(data: bytes) -> list[ManifestEntry]:
    """Return the entries of a manifest file, in file order.

    Raises:
        CorruptData: No Avro file, or one without the fields of a manifest.
        UnsupportedFeature: A file lies outside the table, or belongs to a table with row
            tracking or data evolution.
    """
    raise NotImplementedError
