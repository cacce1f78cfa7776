"""Finder of old rows: the newest records, above a compaction's output level, of the keys that it compacts from level 0.

In a table with deletion vectors it also collects the positions of these rows, which the compaction then marks as
deleted.

Source: merge-semantics 6.4, 7.4.
"""

from collections.abc import Mapping

import pyarrow as pa
from pyroaring import AbstractBitMap, BitMap

from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import ChangelogProducer, MergeEngine
from braid.lake.read.lookup.bucket_lookup import BucketLookup


class OldRows:
    """Finds the old rows of one merge, and collects their positions where the table marks them.

    A table with deletion vectors marks the old row as deleted, because its file stays as it is; the merged
    row replaces it. For one merge of one bucket; not thread-safe.
    """

    def __init__(
        self,
        lookup: BucketLookup,
        schema: TableSchema,
        *,
        above_level: int,
        vectors: Mapping[str, AbstractBitMap],
    ) -> None:
        """Make a finder.

        Args:
            lookup: Lookup over all files of the bucket.
            schema: The schema under which rows are read.
            above_level: The output level of the compaction.
            vectors: Deletion vectors of the bucket, by file name; rows that they mark are skipped.
        """
        options = schema.table_options
        self._lookup = lookup
        self._field_names = schema.field_names
        self._above_level = above_level
        self._vectors = vectors
        self._marks = options.deletion_vectors_enabled
        # Where the newest record replaces the whole row and no changelog has the replaced row, the values
        # of the old row are not needed: its position is enough to mark it, and the row is not read.
        self._is_position_enough = (
            self._marks
            and options.merge_engine is MergeEngine.DEDUPLICATE
            and not options.sequence_field
            and options.changelog_producer is not ChangelogProducer.LOOKUP
        )
        self._marked: dict[str, BitMap] = {}

    @property
    def marked(self) -> Mapping[str, BitMap]:
        """Positions of all rows found so far by file name; empty in tables without deletion vectors."""
        return self._marked

    def find(self, keys: pa.Table) -> pa.Table | None:
        """Return the newest record of each key above the output level (see `FindOld`)."""
        found = self._lookup.find(keys, above_level=self._above_level, vectors=self._vectors)
        if self._marks:
            for number, file in enumerate(found.files):
                positions = found.positions[found.file_numbers == number]
                self._marked.setdefault(file.file_name, BitMap()).update(positions.tolist())
        if self._is_position_enough or not len(found.keys):
            return None
        return self._lookup.records(found, self._field_names, waits=True)
