"""Entries of Iceberg manifests and of manifest lists, as values.

A *live* entry is one that is not deleted. A deletion is kept as an entry of the snapshot that made it, and left out
when the manifest is written the next time.

Source: Iceberg's table specification, "Manifests" and "Manifest Lists".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from braid.lake.format.data_types import DataField
from braid.lake.iceberg.single_values import PlainValue, bound_bytes


class EntryStatus(IntEnum):
    """What the snapshot that wrote a manifest did with a file."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergDataFile:
    """A data file in a manifest.

    Attributes:
        path: Absolute path.
        file_format: `parquet`.
        partition: Plain value of each partition column, None for null.
        record_count: Number of rows.
        size: Bytes.
        null_counts: Number of nulls by id of the column.
        lower_bounds: Bytes that no value of the column is below, by its id.
        upper_bounds: The same above.
    """

    path: str
    file_format: str
    partition: tuple[PlainValue | None, ...]
    record_count: int
    size: int
    null_counts: Mapping[int, int]
    lower_bounds: Mapping[int, bytes]
    upper_bounds: Mapping[int, bytes]

    @property
    def name(self) -> str:
        """Return the last part of the path, which is unique in the table."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergEntry:
    """An entry of a manifest.

    Attributes:
        status: What the manifest's snapshot did with the file.
        snapshot_id: The snapshot that added the file, or that deleted it.
        sequence_number: That of the snapshot that added the file.
        file_sequence_number: The same.
        file: The file.
    """

    status: EntryStatus
    snapshot_id: int
    sequence_number: int
    file_sequence_number: int
    file: IcebergDataFile

    @property
    def is_live(self) -> bool:
        """Return whether the file is a part of the table."""
        return self.status is not EntryStatus.DELETED

    def as_existing(self) -> "IcebergEntry":
        """Return the entry as a later snapshot keeps it."""
        return (
            self
            if self.status is EntryStatus.EXISTING
            else replace(self, status=EntryStatus.EXISTING)
        )

    def as_deleted(self, snapshot_id: int) -> "IcebergEntry":
        """Return the entry as the snapshot that removes the file writes it."""
        return replace(self, status=EntryStatus.DELETED, snapshot_id=snapshot_id)


def added_entry(file: IcebergDataFile, snapshot_id: int) -> IcebergEntry:
    """Return the entry of a file that a snapshot adds."""
    return IcebergEntry(
        status=EntryStatus.ADDED,
        snapshot_id=snapshot_id,
        sequence_number=snapshot_id,
        file_sequence_number=snapshot_id,
        file=file,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSummary:
    """The values that one partition column has in a manifest.

    Attributes:
        contains_null: Whether one is null.
        contains_nan: Whether one is not a number.
        lower_bound: Bytes of the least value; None where all are null.
        upper_bound: Bytes of the greatest value; None where all are null.
    """

    contains_null: bool
    contains_nan: bool
    lower_bound: bytes | None
    upper_bound: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergManifest:
    """A manifest, as a manifest list names it.

    Attributes:
        path: Absolute path.
        length: Bytes.
        sequence_number: That of the snapshot that wrote it.
        min_sequence_number: The lowest of its entries.
        added_snapshot_id: The snapshot that wrote it.
        files: Number of entries by status.
        rows: Number of their rows by status.
        partitions: Summary of each partition column.
    """

    path: str
    length: int
    sequence_number: int
    min_sequence_number: int
    added_snapshot_id: int
    files: Mapping[EntryStatus, int]
    rows: Mapping[EntryStatus, int]
    partitions: tuple[PartitionSummary, ...]

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def is_dead(self) -> bool:
        """Return whether every entry is a deletion."""
        return not self.files[EntryStatus.ADDED] and not self.files[EntryStatus.EXISTING]


def describe_manifest(
    path: str,
    length: int,
    entries: Sequence[IcebergEntry],
    *,
    snapshot_id: int,
    partition_fields: Sequence[DataField],
) -> IcebergManifest:
    """Return the description of a manifest that a snapshot wrote.

    Args:
        path: Absolute path.
        length: Bytes of the file.
        entries: Its entries, at least one.
        snapshot_id: The snapshot.
        partition_fields: The partition columns.
    """
    assert entries, "a manifest has entries"
    return IcebergManifest(
        path=path,
        length=length,
        sequence_number=snapshot_id,
        min_sequence_number=min(entry.sequence_number for entry in entries),
        added_snapshot_id=snapshot_id,
        files={s: sum(entry.status is s for entry in entries) for s in EntryStatus},
        rows={
            s: sum(entry.file.record_count for entry in entries if entry.status is s)
            for s in EntryStatus
        },
        partitions=tuple(
            _summary([entry.file.partition[number] for entry in entries], field)
            for number, field in enumerate(partition_fields)
        ),
    )


def _summary(values: Sequence[PlainValue | None], field: DataField) -> PartitionSummary:
    # A number that is not equal to itself is not a number, and is in no order.
    numbers = [value for value in values if value is not None and value == value]
    bounds = [bound_bytes(edge, field.type) for edge in _edges(numbers)]
    lower, upper = bounds or (None, None)
    return PartitionSummary(
        contains_null=None in values,
        contains_nan=len(numbers) + sum(value is None for value in values) < len(values),
        lower_bound=lower,
        upper_bound=upper,
    )


def _edges(values: Sequence[PlainValue]) -> tuple[PlainValue, ...]:
    # Values of one column are of one type, which `min` cannot know.
    ordered = sorted(set(values))
    return (ordered[0], ordered[-1]) if ordered else ()
