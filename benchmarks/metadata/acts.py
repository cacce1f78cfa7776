"""Acts that touch the metadata of a table, and no data file."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.metadata.table import missing_keys, new_file, random_statistics
from braid.lake import Condition, Operator, Table
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.commit_message import CommitMessage

OpenTable = Callable[[], Table]

COMMITS_MAX: Final = 60
"""Commits that an act can make."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is measured, once or several times in one process.

    Attributes:
        work: Is measured. Its first call is that of a process that has read nothing, unless the preparation reads.
        before: Is called before each time, and not measured.
    """

    work: Callable[[], object]
    before: Callable[[], object] = lambda: None


class _Opened:
    """A table that the first use opens."""

    def __init__(self, open_table: OpenTable) -> None:
        self._open_table = open_table
        self._table: Table | None = None

    @property
    def table(self) -> Table:
        if self._table is None:
            self._table = self._open_table()
        return self._table


class _Commits:
    """Commits of one file of level 0, which is made before."""

    def __init__(self, open_table: OpenTable) -> None:
        schema = open_table().schema
        buckets = schema.table_options.bucket
        self._opened = _Opened(open_table)
        self._messages = [
            CommitMessage(
                partition=EMPTY_ROW,
                bucket=number % buckets,
                total_buckets=buckets,
                schema_id=schema.id,
                new_files=(new_file(schema, time.time_ns() + number, statistics),),
            )
            for number, statistics in enumerate(
                random_statistics(schema.fields, COMMITS_MAX, seed=7)
            )
        ]

    def commit(self) -> None:
        """Commit the next file."""
        message = self._messages.pop()
        user = message.new_files[0].file_name
        self._opened.table.committer().commit([message], commit_user=user)


def lookup(open_table: OpenTable) -> Prepared:
    """Open the table, and plan the lookup of a key, another one with each call."""
    opened, keys = _Opened(open_table), missing_keys()
    return Prepared(lambda: opened.table.get(next(keys)))


def lookup_after_commits(open_table: OpenTable) -> Prepared:
    """Plan lookups in a process that has planned one, each after a commit of another process."""
    table, keys = open_table(), missing_keys()
    table.get(next(keys))
    return Prepared(lambda: table.get(next(keys)), before=_Commits(open_table).commit)


def served_lookup(open_table: OpenTable) -> Prepared:
    """Make the lookup of the newest snapshot, which has the files of all buckets."""
    opened, keys = _Opened(open_table), missing_keys()
    return Prepared(lambda: opened.table.lookup_at().get(next(keys)))


def served_lookup_after_commits(open_table: OpenTable) -> Prepared:
    """Make the lookup of each new snapshot, in a process that has one of the snapshot before."""
    table, keys = open_table(), missing_keys()
    table.lookup_at().get(next(keys))
    return Prepared(lambda: table.lookup_at().get(next(keys)), before=_Commits(open_table).commit)


def scan(open_table: OpenTable) -> Prepared:
    """Open the table, and plan a scan that value statistics restrict."""
    opened, where = (
        _Opened(open_table),
        [Condition(column="c0", op=Operator.GREATER, value=1 << 39)],
    )
    return Prepared(lambda: opened.table.scan(where=where).plan())


def commit(open_table: OpenTable) -> Prepared:
    """Open the table, and commit a file of level 0."""
    return Prepared(_Commits(open_table).commit)


def compaction_pick(open_table: OpenTable) -> Prepared:
    """Open the table, and find the buckets that are due."""
    opened = _Opened(open_table)
    return Prepared(lambda: list(opened.table.buckets_to_compact()))


def expiry(open_table: OpenTable) -> Prepared:
    """Expire ten snapshots with each call."""
    opened = _Opened(open_table)
    return Prepared(
        lambda: opened.table.expire(
            retain_max=1, retain_min=1, older_than_ms=time.time_ns(), max_deletes=10
        )
    )


ACTS: Final[Mapping[str, Callable[[OpenTable], Prepared]]] = {
    "lookup": lookup,
    "lookup after a commit": lookup_after_commits,
    "lookup of all buckets": served_lookup,
    "lookup of all buckets after a commit": served_lookup_after_commits,
    "scan with a filter": scan,
    "commit": commit,
    "buckets to compact": compaction_pick,
    "expiry of ten snapshots": expiry,
}
