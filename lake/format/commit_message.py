"""What a writer tells the committer: the files it made for one bucket.

Messages cross from Spark's executors to the driver as bytes; writers and committers need not
know each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lake.format.data_file import DataFileMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """The files that one writer made, and replaced, in one bucket.

    Attributes:
        partition: Serialised binary row of the partition columns; `EMPTY_ROW` without any.
        bucket: 0 and up.
        total_buckets: Bucket count that the rows were routed with.
        schema_id: Schema that the rows were written under.
        new_files: Fresh files of level 0.
        compact_before: Files that a compaction replaces.
        compact_after: Files that replace them.
        changelog_files: Changelog of the new files.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    schema_id: int
    new_files: tuple[DataFileMeta, ...]
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    changelog_files: tuple[DataFileMeta, ...] = ()


def serialize_messages(messages: Sequence[CommitMessage]) -> bytes:
    """Return the messages as bytes for another process of this version."""
    raise NotImplementedError


def parse_messages(data: bytes) -> tuple[CommitMessage, ...]:
    """Return the messages that `serialize_messages` has written.

    Raises:
        CorruptData: The bytes are something else.
    """
    raise NotImplementedError
