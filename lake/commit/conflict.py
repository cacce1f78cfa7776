"""Conflict rules: whether a commit still fits the newest snapshot. Pure.

1. Appends and overwrites were written under the newest schema and its bucket count; a compaction
   replaces no file of a newer schema than its own.
2. A delta names each file identity once.
3. Every DELETE names a live file, and no ADD does.
4. The bucket count of a partition changes through OVERWRITE only, and then for all of its files.
5. In each (partition, bucket, level >= 1) the key ranges of the resulting files are disjoint.
6. Rows that were routed by a hash index were routed by the index of the newest snapshot.
7. A commit that replaces files of a bucket has seen the bucket's newest deletion vectors.

Every attempt checks the rules that its commit can break (`braid.lake.commit.table_state`). Appends
add files under fresh names, usually on level 0. So of the appends only two kinds are checked by
rules 3 to 5: those that add files on higher levels, and those to a table whose bucket count has
ever changed.

Source:
    Table format, section 18.3.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from braid.lake.errors import CommitConflict, InvalidRequest
from braid.lake.format.binary_row import decode_row
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.data_types import DataField
from braid.lake.format.indexes.index_manifest import (
    DELETION_VECTORS_INDEX,
    HASH_INDEX,
    IndexManifestEntry,
)
from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import CommitKind
from braid.lake.options.table_options import DYNAMIC_BUCKET

Live = Mapping[FileIdentity, ManifestEntry]


def check_writers(
    messages: Sequence[CommitMessage], schema: TableSchema, *, kind: CommitKind
) -> None:
    """Check bucket count and schema id of the writers against the newest schema.

    A compaction leaves rows in their buckets and may have read them under an older schema; its files
    stay readable by field id. But it must not replace a file of a newer schema than its own: the
    values of columns that it does not know would be lost.

    Raises:
        CommitConflict: The schema or the bucket count has changed since the rows were written, or a
            compaction replaces a file of a newer schema.
    """
    if kind is CommitKind.COMPACT:
        _check_replaced(messages)
        return
    buckets = schema.table_options.bucket
    for message in messages:
        if message.schema_id != schema.id:
            text = f"rows were written under schema {message.schema_id}, but the newest schema is {schema.id}"
            raise CommitConflict(text)
        # A message that only deletes files keeps the bucket count of these files; a message without
        # any files is checked like a message with rows.
        brings_rows = message.new_files or message.compact_after or not message.compact_before
        if brings_rows and message.total_buckets != buckets:
            text = (
                f"rows were routed to {message.total_buckets} buckets, but the table has {buckets}"
            )
            raise CommitConflict(text)


def check_routing(
    messages: Sequence[CommitMessage],
    indexes: Iterable[IndexManifestEntry],
    schema: TableSchema,
    *,
    kind: CommitKind,
) -> None:
    """Check that rows were routed by the hash indexes that their partitions have now.

    All indexes of the partition are compared, not only those of the buckets written to: another
    writer may have put the same new key into any bucket. A compaction leaves every row in its bucket.

    Args:
        messages: Messages of the commit.
        indexes: All index files of the newest snapshot.
        schema: The newest schema.
        kind: Kind of the commit.

    Raises:
        CommitConflict: An index has changed; route the rows again.
        InvalidRequest: Rows of dynamic buckets come without the index that routed them.
    """
    names: defaultdict[bytes, list[str]] = defaultdict(list)
    for entry in indexes:
        if entry.index_type == HASH_INDEX:
            names[entry.partition].append(entry.file_name)
    is_dynamic = schema.table_options.bucket == DYNAMIC_BUCKET
    for message in messages:
        if message.index_base is not None:
            if message.index_base != tuple(sorted(names[message.partition])):
                text = (
                    f"the rows of bucket {message.bucket} were routed by a bucket index that "
                    "another commit has replaced\n"
                    "hint: write the rows again with a new writer"
                )
                raise CommitConflict(text)
        elif is_dynamic and message.new_files and kind is not CommitKind.COMPACT:
            text = (
                f"new files of dynamic bucket {message.bucket} come without the index that their "
                "rows were routed by, so a key could be in two buckets"
            )
            raise InvalidRequest(text)


def check_vectors(messages: Sequence[CommitMessage], indexes: Iterable[IndexManifestEntry]) -> None:
    """Check that each replacement of files is based on the newest deletion vectors of its bucket.

    Args:
        messages: Messages that replace files.
        indexes: All index files of the newest snapshot.

    Raises:
        CommitConflict: Another commit has changed the bucket's deletion vectors.
    """
    names = {
        (entry.partition, entry.bucket): entry.file_name
        for entry in indexes
        if entry.index_type == DELETION_VECTORS_INDEX
    }
    for message in messages:
        seen = None if message.vectors is None else message.vectors.base
        if names.get((message.partition, message.bucket)) != seen:
            text = (
                f"the replacement of files of bucket {message.bucket} does not consider the "
                "deletion vectors that the bucket has now"
            )
            raise CommitConflict(text)


def check_delta(delta: Sequence[ManifestEntry]) -> None:
    """Check that a delta names each identity once.

    Raises:
        InvalidRequest: A file is named twice, or added and deleted at once.
    """
    counts = Counter(entry.identity for entry in delta)
    twice = sorted({key[3] for key, count in counts.items() if count > 1})
    if twice:
        text = f"one commit names files more than once: {', '.join(twice)}"
        raise InvalidRequest(text)


def check_files(delta: Sequence[ManifestEntry], live: Live) -> None:
    """Check that every DELETE names a live file, and no ADD does.

    Raises:
        CommitConflict: A file to delete is not live, or a file to add is.
    """
    for entry in delta:
        is_live = entry.identity in live
        if entry.kind is FileKind.DELETE and not is_live:
            text = f"{_description(entry)} was to be replaced but is not live any more"
            raise CommitConflict(text)
        if entry.kind is FileKind.ADD and is_live:
            text = f"{_description(entry)} is live already"
            raise CommitConflict(text)


def check_total_buckets(delta: Sequence[ManifestEntry], live: Live, *, kind: CommitKind) -> None:
    """Check that no partition's bucket count changes, except by an overwrite of all its files.

    Raises:
        CommitConflict: A partition would have files of two bucket counts.
    """
    counts: dict[bytes, int] = {}
    gone: set[FileIdentity] = set()
    for entry in delta:
        if kind is CommitKind.OVERWRITE and entry.kind is FileKind.DELETE:
            gone.add(entry.identity)
            continue
        # The first entry of a partition sets the count that all others must have.
        known = counts.setdefault(entry.partition, entry.total_buckets)
        _check_count(entry, known)
    for identity, entry in live.items():
        if entry.partition in counts and identity not in gone:
            _check_count(entry, counts[entry.partition])


def check_levels(
    delta: Sequence[ManifestEntry], live: Live, key_fields: Sequence[DataField]
) -> None:
    """Check that each level from 1 on stays one sorted run where the delta adds to it.

    Keys are decoded and compared as values, because the bytes of a binary row sort differently.

    Raises:
        CommitConflict: Two files of a level overlap ("LSM conflict").
    """
    deleted = {entry.identity for entry in delta if entry.kind is FileKind.DELETE}
    added = [entry for entry in delta if entry.kind is FileKind.ADD and entry.file.level >= 1]
    touched = {_level(entry) for entry in added}
    if not touched:
        return
    runs: defaultdict[tuple[bytes, int, int], list[ManifestEntry]] = defaultdict(list)
    for entry in added:
        runs[_level(entry)].append(entry)
    for identity, entry in live.items():
        if identity not in deleted and _level(entry) in touched:
            runs[_level(entry)].append(entry)
    for run in runs.values():
        _check_disjoint(run, key_fields)


def _check_replaced(messages: Sequence[CommitMessage]) -> None:
    for message in messages:
        for file in message.compact_before:
            if file.schema_id > message.schema_id:
                text = (
                    f"file {file.file_name} of schema {file.schema_id} was to be replaced by rows "
                    f"that were read under schema {message.schema_id}"
                )
                raise CommitConflict(text)


def _check_disjoint(run: Iterable[ManifestEntry], key_fields: Sequence[DataField]) -> None:
    bounds = [
        (
            _sort_key(entry.file.min_key, key_fields),
            _sort_key(entry.file.max_key, key_fields),
            entry,
        )
        for entry in run
    ]
    # Sorted by minimum, an overlap anywhere shows between two neighbours.
    bounds.sort(key=lambda item: item[:2])
    for (_, high, left), (low, _, right) in pairwise(bounds):
        if low <= high:
            text = f"{_description(left)} and {right.file.file_name} have overlapping keys on level {left.file.level}"
            raise CommitConflict(text)


def _sort_key(key: bytes, fields: Sequence[DataField]) -> tuple[tuple[int, Any], ...]:
    """Return a key in a form that sorts as in the format: nulls first, floats in a total order."""
    return tuple(_sort_value(value) for value in decode_row(key, fields))


def _sort_value(value: object) -> tuple[int, Any]:
    # The rank keeps values of different types apart: null, then values, then NaN.
    if value is None:
        return (0, 0)
    if isinstance(value, float):
        # NaN is the greatest, and -0.0 comes before +0.0.
        return (2, 0) if math.isnan(value) else (1, (value, math.copysign(1.0, value)))
    return (1, value)


def _check_count(entry: ManifestEntry, expected: int) -> None:
    if entry.total_buckets != expected:
        text = (
            f"{_description(entry)} was written for {entry.total_buckets} buckets, expected {expected}: "
            "only an overwrite of all its files changes the bucket count of a partition\n"
            "hint: a rescale has begun; wait for its end, or run it again if it was interrupted"
        )
        raise CommitConflict(text)


def _level(entry: ManifestEntry) -> tuple[bytes, int, int]:
    return entry.partition, entry.bucket, entry.file.level


def _description(entry: ManifestEntry) -> str:
    return f"file {entry.file.file_name} of bucket {entry.bucket}"
