"""Answers about a table's snapshots, tags and compactions; the request for a tag."""

from braid.schemas.contract import Contract, PositiveInt


class SnapshotView(Contract):
    """One committed state of a table.

    Attributes:
        id: Its number, from 1.
        kind: What was committed: `APPEND` (rows), `COMPACT`, `OVERWRITE` or `ANALYZE`.
        committed_at: ISO 8601, UTC.
        commit_user: The writer: a stream, a process, or the id of an operation.
        schema_id: The newest schema at that time.
        rows: Rows in live files, older versions of rows and deletes included.
        added_rows: Rows of the added files less those of the removed ones.
        changelog_rows: Rows of the changelog files; null: there are none.
        tags: Names of the tags of this snapshot, in alphabetical order.
    """

    id: int
    kind: str
    committed_at: str
    commit_user: str
    schema_id: int
    rows: int
    added_rows: int
    changelog_rows: int | None
    tags: tuple[str, ...]


class SnapshotList(Contract):
    """A page of the snapshots that are kept, the newest first.

    Attributes:
        snapshots: The snapshots.
        next_page_token: Token of the next page; null: this is the last one.
    """

    snapshots: tuple[SnapshotView, ...]
    next_page_token: str | None = None


class TagRequest(Contract):
    """The snapshot that a tag names.

    Attributes:
        snapshot_id: Its id; null: the newest one.
        retained_seconds: Time to live of the tag; null: that of the table's options, or without end.
    """

    snapshot_id: PositiveInt | None = None
    retained_seconds: PositiveInt | None = None


class TagView(Contract):
    """A named snapshot, which stays readable after it has expired.

    Attributes:
        name: Unique in the table.
        snapshot_id: The snapshot.
        committed_at: Time of its commit, ISO 8601, UTC.
        retained_seconds: Time to live of the tag; null: without end.
    """

    name: str
    snapshot_id: int
    committed_at: str
    retained_seconds: float | None


class TagList(Contract):
    """The tags of a table, by name.

    Attributes:
        tags: The tags.
    """

    tags: tuple[TagView, ...]


class CompactionView(Contract):
    """The compaction of one bucket.

    Attributes:
        snapshot_id: The snapshot that it has made.
        committed_at: ISO 8601, UTC.
        commit_user: Who has compacted: a process, or the id of an operation.
        partition: Directory of the partition; empty without partitions.
        bucket: The bucket.
        files_in: Files that were replaced.
        files_out: Files that replaced them.
        rows_in: Rows in the replaced files.
        rows_out: Rows in the files that replaced them.
        bytes_in: Bytes of the replaced files.
        bytes_out: Bytes of the files that replaced them.
        bytes_written: Bytes of those among them that were written anew; the others changed their level alone.
    """

    snapshot_id: int
    committed_at: str
    commit_user: str
    partition: str
    bucket: int
    files_in: int
    files_out: int
    rows_in: int
    rows_out: int
    bytes_in: int
    bytes_out: int
    bytes_written: int


class CompactionList(Contract):
    """A page of the compactions among the last 1,000 snapshots, the newest first.

    Attributes:
        compactions: The compactions.
        next_page_token: Token of the next page; null: this is the last one.
    """

    compactions: tuple[CompactionView, ...]
    next_page_token: str | None = None
