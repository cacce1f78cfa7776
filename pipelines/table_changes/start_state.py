"""Rows from which a full read starts: a state that the changes of later snapshots continue.

| `changelog-producer` | the state of a snapshot |
|---|---|
| `none`, `input` | all files: the records of later snapshots are the changes |
| `lookup` | the files above level 0: changes come when compactions take files from level 0 |
| `full-compaction` | the files of the highest level: changes come with full compactions |
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from braid.lake import ChangelogProducer, Scan, Split, SplitReader, Table, TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBucket:
    """A bucket with rows.

    Attributes:
        partition: Serialised partition row.
        bucket: Number of the bucket.
        files: Number of its files.
    """

    partition: bytes
    bucket: int
    files: int


class StartState:
    """The rows of one snapshot; buckets have numbers that are the same at each call."""

    def __init__(self, table: Table, snapshot_id: int, columns: Sequence[str]) -> None:
        """Plan to read.

        Raises:
            InvalidRequest: There is no such snapshot any more.
        """
        scan = table.scan(columns=columns, at=snapshot_id, merged=True, schema_id=table.schema.id)
        lowest = _lowest_level(scan.schema)
        entries = [entry for entry in scan.source.entries if entry.file.level >= lowest]
        self._scan: Scan = replace(scan, source=replace(scan.source, entries=entries))
        counts: dict[tuple[bytes, int], int] = {}
        for entry in entries:
            key = entry.partition, entry.bucket
            counts[key] = counts.get(key, 0) + 1
        self.buckets = tuple(
            StateBucket(partition=key[0], bucket=key[1], files=counts[key])
            for key in sorted(counts)
        )

    def splits(self, start: int, end: int) -> Sequence[Split]:
        """Return the tasks of some buckets."""
        wanted = {(one.partition, one.bucket) for one in self.buckets[start:end]}
        return [split for split in self._scan.splits() if (split.partition, split.bucket) in wanted]

    def reader(self) -> SplitReader:
        """Return the reader of the splits."""
        return self._scan.reader()


def _lowest_level(schema: TableSchema) -> int:
    options = schema.table_options
    match options.changelog_producer:
        case ChangelogProducer.LOOKUP:
            return 1
        case ChangelogProducer.FULL_COMPACTION:
            return options.num_levels - 1
        case _:
            return 0
