"""The next snapshot is a function of the last one and the commit."""

from dataclasses import replace

from braid.lake.commit.attempt_files import WrittenList
from braid.lake.commit.commit_changes import CommitChanges, changes_of
from braid.lake.commit.intent import PlainCommit, Revision
from braid.lake.commit.next_snapshot import SnapshotFiles, next_snapshot, next_time_ms
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.format.snapshot import MAX_SEQUENCE_NUMBER_PROPERTY, CommitKind, Snapshot
from tests.support.committing import appended, data_file, table_schema

FILES = SnapshotFiles(
    base=WrittenList(name="base", size=10, manifests=()),
    delta=WrittenList(name="delta", size=20, manifests=()),
)
REVISION = Revision(identifier=3, streams=StreamAuthority(), properties={"job": "1"})


def intent(changes: CommitChanges | None = None, *, max_sequence_number: int = -1) -> PlainCommit:
    return PlainCommit(
        user="u",
        identifier=3,
        kind=CommitKind.APPEND,
        messages=(),
        changes=changes or CommitChanges(),
        max_sequence_number=max_sequence_number,
        properties={},
    )


def after(
    previous: Snapshot | None,
    commit: PlainCommit | None = None,
    *,
    files: SnapshotFiles = FILES,
    highest: int = -1,
) -> Snapshot:
    intended = commit or intent()
    return next_snapshot(
        previous,
        intent=intended,
        changes=intended.changes,
        revision=REVISION,
        schema=table_schema(),
        files=files,
        uuid="uuid-1",
        time_ms=55,
        max_sequence_number=highest,
    )


def test_the_first_snapshot_is_number_one() -> None:
    snapshot = after(None)

    assert (snapshot.id, snapshot.total_record_count, snapshot.next_row_id) == (1, 0, 0)
    assert (snapshot.base_manifest_list, snapshot.base_manifest_list_size) == ("base", 10)
    assert (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size) == ("delta", 20)
    assert (snapshot.uuid, snapshot.time_millis, snapshot.commit_identifier) == ("uuid-1", 55, 3)
    assert snapshot.properties == {"job": "1", "braid.streams": "complete"}
    assert snapshot.changelog_manifest_list is None
    assert snapshot.changelog_record_count is None


def test_counts_add_up_along_the_chain() -> None:
    changes = changes_of([appended(data_file("a"))], CommitKind.APPEND)

    snapshot = after(replace(after(None), id=6, total_record_count=100), intent(changes))

    assert (snapshot.id, snapshot.total_record_count, snapshot.delta_record_count) == (7, 110, 10)


def test_a_changelog_is_named_and_counted() -> None:
    message = appended(data_file("a"), changelog_files=(data_file("log", high=2),))
    changes = changes_of([message], CommitKind.APPEND)
    files = replace(FILES, changelog=WrittenList(name="log", size=5, manifests=()))

    snapshot = after(None, intent(changes), files=files)

    assert (snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size) == ("log", 5)
    assert snapshot.changelog_record_count == 3


def test_the_highest_sequence_number_of_all_is_kept() -> None:
    changes = changes_of([appended(data_file("a", high=30))], CommitKind.APPEND)

    def highest(before: int, handed_out: int) -> str:
        commit = intent(changes, max_sequence_number=handed_out)
        return after(None, commit, highest=before).properties[MAX_SEQUENCE_NUMBER_PROPERTY]

    assert highest(-1, -1) == "30"
    assert highest(40, -1) == "40"
    assert highest(40, 50) == "50"


def test_time_is_the_clocks_unless_it_went_back() -> None:
    previous = replace(after(None), time_millis=100)

    def commit_time_ms(snapshot: Snapshot) -> int:
        return snapshot.time_millis

    assert next_time_ms(None, 7, commit_time_ms=commit_time_ms) == 7
    assert next_time_ms(previous, 101, commit_time_ms=commit_time_ms) == 101
    assert next_time_ms(previous, 99, commit_time_ms=commit_time_ms) == 100


def test_the_time_of_a_clock_that_was_ahead_is_not_carried_on() -> None:
    previous = replace(after(None), time_millis=9_000)

    assert next_time_ms(previous, 99, commit_time_ms=lambda _: 50) == 99
