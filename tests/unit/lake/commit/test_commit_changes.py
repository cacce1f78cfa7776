"""Messages become manifest entries, and are refused when they contradict the kind of the commit."""

import pytest

from braid.lake.commit.commit_changes import changes_of
from braid.lake.errors import InvalidRequest
from braid.lake.format.manifest import FileKind
from braid.lake.format.snapshot import CommitKind
from tests.support.committing import appended, compacted, data_file


def test_new_files_are_added() -> None:
    changes = changes_of([appended(data_file("a"), data_file("b"), bucket=1)], CommitKind.APPEND)

    assert [(e.kind, e.bucket, e.total_buckets, e.file.file_name) for e in changes.delta] == [
        (FileKind.ADD, 1, 2, "a"),
        (FileKind.ADD, 1, 2, "b"),
    ]
    assert changes.delta_record_count == 20
    assert changes.max_sequence_number == 9
    assert not changes.is_empty


def test_a_compaction_deletes_before_it_adds() -> None:
    before = (data_file("a"), data_file("b", low=5, high=14))
    changes = changes_of(
        [compacted(before, (data_file("c", level=5, high=14),))], CommitKind.COMPACT
    )

    assert [(e.kind, e.file.file_name) for e in changes.delta] == [
        (FileKind.DELETE, "a"),
        (FileKind.DELETE, "b"),
        (FileKind.ADD, "c"),
    ]
    assert changes.delta_record_count == 15 - 20


def test_changelog_files_are_kept_apart() -> None:
    changes = changes_of(
        [appended(data_file("a"), changelog_files=(data_file("log", high=4),))], CommitKind.APPEND
    )

    assert [entry.file.file_name for entry in changes.delta] == ["a"]
    assert [entry.file.file_name for entry in changes.changelog] == ["log"]
    assert changes.changelog_record_count == 5


def test_no_messages_change_nothing() -> None:
    changes = changes_of([], CommitKind.APPEND)

    assert changes.is_empty
    assert changes.max_sequence_number == -1


def test_messages_fit_their_kind() -> None:
    with pytest.raises(InvalidRequest, match="cannot replace files"):
        changes_of([compacted((data_file("a"),), ())], CommitKind.APPEND)
    with pytest.raises(InvalidRequest, match="cannot bring new files"):
        changes_of([appended(data_file("a"))], CommitKind.COMPACT)
    with pytest.raises(InvalidRequest, match="ANALYZE"):
        changes_of([], CommitKind.ANALYZE)
