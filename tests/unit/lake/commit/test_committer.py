"""Files that a commit leaves on storage, and commits that are refused."""

from dataclasses import replace
from typing import Any

import pytest

from braid.lake.commit.commit_result import Outcome
from braid.lake.commit.streams.position_hold import HOLD_ID
from braid.lake.commit.streams.stream_position import (
    BatchAccount,
    StreamFallback,
    StreamPosition,
    batch_of,
    positions_of,
)
from braid.lake.errors import (
    CommitConflict,
    CorruptData,
    InvalidRequest,
    OffsetMismatch,
    StreamFenced,
    TableNotFound,
)
from braid.lake.files.clock import ManualClock
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import encode_row
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.indexes.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    MAX_SEQUENCE_NUMBER_PROPERTY,
    CommitKind,
    Snapshot,
)
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import (
    ID,
    TOPIC,
    TOPIC_ID,
    appended,
    compacted,
    data_file,
    given_table,
    hash_index,
    index_names,
    live_names,
    new_committer,
    referenced_manifests,
    stored_manifests,
    stream_batch,
    table_schema,
)
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.foreign_engine import commit_foreign, expire


@pytest.fixture
def file_io() -> MemoryFileIO:
    return MemoryFileIO()


@pytest.fixture
def paths(file_io: MemoryFileIO) -> TablePaths:
    return given_table(file_io)


def commit_until(file_io: MemoryFileIO, paths: TablePaths, age: int) -> None:
    """Commit until the newest snapshot has that id."""
    committer = new_committer(file_io, paths)
    for number in range(SnapshotStore(file_io, paths).latest_id() or 0, age):
        committer.commit([appended(data_file(f"{number:04}"))], commit_user="before")


def newest(file_io: MemoryFileIO, paths: TablePaths) -> Snapshot:
    snapshot = SnapshotStore(file_io, paths).latest()
    assert snapshot is not None
    return snapshot


def test_the_first_commit_makes_snapshot_one(file_io: MemoryFileIO, paths: TablePaths) -> None:
    clock = ManualClock(start_ms=1_234)

    result = new_committer(file_io, paths, clock=clock).commit(
        [appended(data_file("a"))], commit_user="writer", commit_identifier=5
    )

    snapshot = newest(file_io, paths)
    assert (result.snapshot_id, result.attempts, result.outcome) == (1, 1, Outcome.COMMITTED)
    assert (snapshot.id, snapshot.schema_id, snapshot.commit_kind) == (1, 0, CommitKind.APPEND)
    assert (snapshot.commit_user, snapshot.commit_identifier) == ("writer", 5)
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (10, 10)
    assert snapshot.time_millis == result.time_ms == 1_234
    assert snapshot.uuid
    assert snapshot.next_row_id == 0
    assert snapshot.properties == {
        "braid.streams": "complete",
        MAX_SEQUENCE_NUMBER_PROPERTY: "9",
    }
    assert file_io.read_bytes(paths.latest_hint) == b"1"
    assert file_io.read_bytes(paths.earliest_hint) == b"1"


def test_snapshots_have_the_exact_sizes_of_their_lists(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    new_committer(file_io, paths).commit([appended(data_file("a"))], commit_user="u")

    snapshot = newest(file_io, paths)

    for name, size in (
        (snapshot.base_manifest_list, snapshot.base_manifest_list_size),
        (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
    ):
        assert size == file_io.size(paths.manifest(name))


def test_the_base_of_a_commit_is_everything_before_it(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    committer = new_committer(file_io, paths)
    for name in "abc":
        committer.commit([appended(data_file(name))], commit_user="u")

    snapshot = newest(file_io, paths)
    store = ManifestStore(file_io, paths)

    def files(list_name: str) -> list[str]:
        return [
            entry.file.file_name
            for manifest in store.read_list(list_name)
            for entry in store.read_manifest(manifest.file_name)
        ]

    assert files(snapshot.base_manifest_list) == ["a", "b"]
    assert files(snapshot.delta_manifest_list) == ["c"]
    assert snapshot.total_record_count == 30


def test_changelog_files_have_their_own_list(file_io: MemoryFileIO, paths: TablePaths) -> None:
    message = appended(data_file("a"), changelog_files=(data_file("log", high=4),))
    new_committer(file_io, paths).commit([message], commit_user="u")

    snapshot = newest(file_io, paths)

    assert snapshot.changelog_record_count == 5
    assert snapshot.changelog_manifest_list is not None
    assert len(ManifestStore(file_io, paths).read_list(snapshot.changelog_manifest_list)) == 1
    assert live_names(file_io, paths) == ["a"]


def test_nothing_is_committed_without_files(file_io: MemoryFileIO, paths: TablePaths) -> None:
    result = new_committer(file_io, paths).commit([], commit_user="u")

    assert result.outcome is Outcome.EMPTY
    assert SnapshotStore(file_io, paths).latest() is None


def test_an_empty_snapshot_is_made_when_asked_for(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"))], commit_user="u")

    result = committer.commit([], commit_user="u", allow_empty=True)

    assert (result.snapshot_id, result.outcome) == (2, Outcome.COMMITTED)
    assert live_names(file_io, paths) == ["a"]


def test_time_never_goes_back(file_io: MemoryFileIO, paths: TablePaths) -> None:
    clock = ManualClock(start_ms=1_000)
    committer = new_committer(file_io, paths, clock=clock)
    committer.commit([appended(data_file("a"))], commit_user="u")
    clock.advance(ms=-500)

    result = committer.commit([appended(data_file("b"))], commit_user="u")

    assert result.time_ms == newest(file_io, paths).time_millis == 1_000


def test_snapshot_fields_of_other_engines_are_carried_forward(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    kept: dict[str, Any] = {
        "index_manifest": "index-manifest-1",
        "watermark": 77,
        "statistics": "stat-1",
        "next_row_id": 5,
    }
    commit_foreign(file_io, paths, **kept)

    new_committer(file_io, paths).commit([appended(data_file("a"))], commit_user="u")

    snapshot = newest(file_io, paths)
    assert {key: getattr(snapshot, key) for key in kept} == kept


def test_statistics_go_with_their_schema(file_io: MemoryFileIO, paths: TablePaths) -> None:
    commit_foreign(file_io, paths, statistics="stat-1")
    SchemaStore(file_io, paths).create(table_schema(schema_id=1))

    new_committer(file_io, paths).commit([appended(data_file("a"), schema_id=1)], commit_user="u")

    snapshot = newest(file_io, paths)
    assert (snapshot.schema_id, snapshot.statistics) == (1, None)


def test_own_properties_are_of_one_snapshot(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"))], commit_user="u", properties={"job": "7"})
    assert newest(file_io, paths).properties["job"] == "7"

    committer.commit([appended(data_file("b"))], commit_user="u")

    assert "job" not in newest(file_io, paths).properties


@pytest.mark.parametrize("key", ["braid.stream.s", "braid.x", MAX_SEQUENCE_NUMBER_PROPERTY])
def test_our_properties_are_reserved(file_io: MemoryFileIO, paths: TablePaths, key: str) -> None:
    with pytest.raises(InvalidRequest, match=f"reserved: {key}"):
        new_committer(file_io, paths).commit([], commit_user="u", properties={key: "1"})


def test_the_same_numbered_commit_again_changes_nothing(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    messages = [appended(data_file("a"))]
    first = new_committer(file_io, paths)
    first.commit(messages, commit_user="u", commit_identifier=1)
    first.commit([appended(data_file("b"))], commit_user="u", commit_identifier=2)

    for committer in (first, new_committer(file_io, paths)):
        result = committer.commit(messages, commit_user="u", commit_identifier=1)
        assert (result.outcome, result.snapshot_id) == (Outcome.REPLAYED, 1)

    assert live_names(file_io, paths) == ["a", "b"]
    assert newest(file_io, paths).id == 2


def test_one_number_stands_for_an_append_and_its_compaction(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"))], commit_user="u", commit_identifier=1)

    result = committer.commit(
        [compacted((data_file("a"),), (data_file("b", level=5),))],
        commit_user="u",
        commit_identifier=1,
        kind=CommitKind.COMPACT,
    )

    assert result.outcome is Outcome.COMMITTED
    assert live_names(file_io, paths) == ["b"]


def test_batches_share_their_number(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    for name in "ab":
        result = committer.commit([appended(data_file(name))], commit_user="u")
        assert result.outcome is Outcome.COMMITTED

    assert newest(file_io, paths).commit_identifier == BATCH_COMMIT_IDENTIFIER
    assert live_names(file_io, paths) == ["a", "b"]


def test_a_compaction_replaces_files(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"), data_file("b"))], commit_user="u")

    committer.commit(
        [compacted((data_file("a"), data_file("b")), (data_file("c", level=5),))],
        commit_user="compactor",
        kind=CommitKind.COMPACT,
    )

    snapshot = newest(file_io, paths)
    assert live_names(file_io, paths) == ["c"]
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (10, -10)
    assert snapshot.commit_kind is CommitKind.COMPACT


def test_a_compaction_yields_to_another(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"))], commit_user="u")

    def compact(name: str) -> None:
        new_committer(file_io, paths).commit(
            [compacted((data_file("a"),), (data_file(name, level=5),))],
            commit_user=name,
            kind=CommitKind.COMPACT,
        )

    compact("b")
    with pytest.raises(CommitConflict, match="not live any more"):
        compact("c")

    assert live_names(file_io, paths) == ["b"]
    assert stored_manifests(file_io, paths) == referenced_manifests(file_io, paths)


def test_a_compaction_may_not_overlap_its_level(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    committer.commit(
        [appended(data_file("top", level=5), data_file("a", low=5, high=20))], commit_user="u"
    )

    with pytest.raises(CommitConflict, match="have overlapping keys on level 5"):
        committer.commit(
            [compacted((data_file("a", low=5, high=20),), (data_file("b", level=5, low=5),))],
            commit_user="u",
            kind=CommitKind.COMPACT,
        )


def test_rows_of_an_older_schema_conflict(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    SchemaStore(file_io, paths).create(table_schema(schema_id=1))

    with pytest.raises(CommitConflict, match="under schema 0, but the newest schema is 1"):
        committer.commit([appended(data_file("a"))], commit_user="u")

    assert stored_manifests(file_io, paths) == set()


def test_a_new_bucket_count_needs_an_overwrite_of_the_partition(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"))], commit_user="u")
    SchemaStore(file_io, paths).create(table_schema(schema_id=1, options={"bucket": "4"}))
    rescaled = appended(data_file("b"), schema_id=1, total_buckets=4)

    with pytest.raises(CommitConflict, match="only an overwrite"):
        committer.commit([rescaled], commit_user="u")
    committer.commit(
        [
            replace(appended(), compact_before=(data_file("a"),), total_buckets=4, schema_id=1),
            rescaled,
        ],
        commit_user="u",
        kind=CommitKind.OVERWRITE,
    )

    assert live_names(file_io, paths) == ["b"]


def test_deletion_vectors_of_other_engines_are_not_left_dangling(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    entries = [
        ManifestEntry(
            kind=FileKind.ADD,
            partition=appended().partition,
            bucket=0,
            total_buckets=2,
            file=data_file("a"),
        )
    ]
    vectors = IndexManifestEntry(
        partition=appended().partition,
        bucket=0,
        index_type=DELETION_VECTORS_INDEX,
        file_name="index-1",
        file_size=1,
        row_count=1,
    )
    ManifestStore(file_io, paths).write_index_manifest(
        "index-manifest-1", [vectors], compression="null"
    )
    commit_foreign(file_io, paths, entries, index_manifest="index-manifest-1")

    with pytest.raises(CommitConflict, match="deletion vectors"):
        new_committer(file_io, paths).commit(
            [compacted((data_file("a"),), (data_file("b", level=5),))],
            commit_user="u",
            kind=CommitKind.COMPACT,
        )


def test_a_directory_that_is_no_table_is_refused(file_io: MemoryFileIO) -> None:
    with pytest.raises(TableNotFound, match="has no schema"):
        new_committer(file_io, TablePaths("/nowhere")).commit(
            [appended(data_file("a"))], commit_user="u"
        )


def test_the_newest_snapshot_with_a_missing_manifest_is_corrupt(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    new_committer(file_io, paths).commit([appended(data_file("a"))], commit_user="u")
    file_io.delete(paths.manifest(newest(file_io, paths).delta_manifest_list))

    with pytest.raises(CorruptData, match="snapshot 1 is the newest"):
        new_committer(file_io, paths).commit([appended(data_file("b"))], commit_user="u")


def test_many_commits_keep_the_base_list_short(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    for number in range(500):
        committer.commit(
            [appended(data_file(f"{number:04}"), bucket=number % 2)],
            commit_user="u",
            commit_identifier=number,
        )

    base = ManifestStore(file_io, paths).read_list(newest(file_io, paths).base_manifest_list)
    assert len(base) <= 45
    assert sum(manifest.num_added_files for manifest in base) == 499
    assert live_names(file_io, paths) == [f"{number:04}" for number in range(500)]


def test_a_commit_takes_as_many_storage_calls_at_any_age(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    calls = []
    for age in (10, 200):
        commit_until(file_io, paths, age)
        counting = FaultyFileIO(file_io)
        new_committer(counting, paths).commit([appended(data_file(f"at {age}"))], commit_user="u")
        calls.append([method for method, _ in counting.calls])

    assert calls[0] == calls[1]


def test_older_schemas_are_read_once_for_all_committers(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    for schema_id in range(1, 20):
        assert SchemaStore(file_io, paths).create(table_schema(schema_id=schema_id))
    counting = FaultyFileIO(file_io)
    schemas = SchemaStore(counting, paths)

    for number in range(3):
        new_committer(counting, paths, schemas=schemas).commit(
            [appended(data_file(f"{number}"), schema_id=19)], commit_user="u"
        )

    read = [path for method, path in counting.calls if method == "read_bytes"]
    assert [read.count(paths.schema(schema_id)) for schema_id in range(19)] == [1] * 19


# Sequence numbers


def test_the_highest_sequence_number_is_carried(file_io: MemoryFileIO, paths: TablePaths) -> None:
    committer = new_committer(file_io, paths)
    assert committer.max_sequence_number() == -1
    committer.commit([appended(data_file("a", high=41))], commit_user="u")
    assert committer.max_sequence_number() == 41

    committer.commit([appended(data_file("b", high=5))], commit_user="u", next_sequence_number=100)
    assert committer.max_sequence_number() == 99

    committer.commit([], commit_user="u", allow_empty=True)
    assert new_committer(file_io, paths).max_sequence_number() == 99


def test_after_a_commit_of_another_engine_all_files_are_read(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"))], commit_user="u")
    entry = ManifestEntry(
        kind=FileKind.ADD,
        partition=appended().partition,
        bucket=0,
        total_buckets=2,
        file=data_file("foreign", max_sequence_number=500),
    )
    commit_foreign(file_io, paths, [entry])
    assert committer.max_sequence_number() == 500

    committer.commit([appended(data_file("b"))], commit_user="u")

    assert newest(file_io, paths).properties[MAX_SEQUENCE_NUMBER_PROPERTY] == "500"


def test_a_sequence_number_that_is_none_is_corrupt(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    commit_foreign(file_io, paths, properties={MAX_SEQUENCE_NUMBER_PROPERTY: "many"})

    with pytest.raises(CorruptData, match="is `many`"):
        new_committer(file_io, paths).max_sequence_number()


# Streams


def claim(file_io: MemoryFileIO, paths: TablePaths, **given: object) -> StreamPosition:
    values: dict[str, object] = {
        "topic": TOPIC,
        "topic_id": TOPIC_ID,
        "initial_offsets": {0: 0},
        **given,
    }
    stream = str(values.pop("stream", "s"))
    return new_committer(file_io, paths).claim_stream(stream, **values)  # type: ignore[arg-type]  # by name


def test_a_new_stream_starts_at_its_initial_offsets(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    position = claim(file_io, paths, initial_offsets={0: 3, 1: 4})

    snapshot = newest(file_io, paths)
    assert (position.epoch, position.offsets, position.batch_id) == (1, {0: 3, 1: 4}, -1)
    assert positions_of(snapshot) == {"s": position}
    assert snapshot.commit_user == "s"
    assert snapshot.commit_identifier == (1 << 32) - 1
    assert position.commit_time_ms == snapshot.time_millis
    assert live_names(file_io, paths) == []


def test_a_batch_moves_the_stream(file_io: MemoryFileIO, paths: TablePaths) -> None:
    claim(file_io, paths)
    batch = stream_batch(
        {0: 0}, {0: 10}, batch_id=4, account=BatchAccount(accepted=7, dead_lettered=3)
    )

    result = new_committer(file_io, paths).commit_stream_batch(
        [appended(data_file("a"))], batch, max_sequence_number=50
    )

    snapshot = newest(file_io, paths)
    position = positions_of(snapshot)["s"]
    assert (result.outcome, result.snapshot_id) == (Outcome.COMMITTED, 2)
    assert (position.offsets, position.batch_id, position.epoch) == ({0: 10}, 4, 1)
    assert position.account == batch.account
    assert position.commit_time_ms == snapshot.time_millis
    assert batch_of(snapshot) == batch
    assert snapshot.commit_identifier == 1 << 32 | 4
    assert snapshot.properties[MAX_SEQUENCE_NUMBER_PROPERTY] == "50"
    assert live_names(file_io, paths) == ["a"]


def test_accounts_accumulate(file_io: MemoryFileIO, paths: TablePaths) -> None:
    claim(file_io, paths)
    committer = new_committer(file_io, paths)
    for number, account in enumerate((BatchAccount(accepted=1, folded=2), BatchAccount(ignored=3))):
        committer.commit_stream_batch(
            [],
            stream_batch({0: 3 * number}, {0: 3 * number + 3}, batch_id=number, account=account),
        )

    assert committer.stream_positions()["s"].account == BatchAccount(
        accepted=1, folded=2, ignored=3
    )


def test_a_batch_of_dead_letters_only_is_committed(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    claim(file_io, paths)
    batch = stream_batch({0: 0}, {0: 5}, account=BatchAccount(dead_lettered=5))

    result = new_committer(file_io, paths).commit_stream_batch([], batch, max_sequence_number=None)

    assert (result.outcome, result.snapshot_id) == (Outcome.COMMITTED, 2)
    assert new_committer(file_io, paths).stream_positions()["s"].offsets == {0: 5}


def test_a_replayed_batch_changes_nothing(file_io: MemoryFileIO, paths: TablePaths) -> None:
    claim(file_io, paths)
    batch = stream_batch({0: 0}, {0: 10})
    new_committer(file_io, paths).commit_stream_batch([appended(data_file("a"))], batch)

    result = new_committer(file_io, paths).commit_stream_batch([appended(data_file("a2"))], batch)

    assert (result.outcome, result.snapshot_id) == (Outcome.REPLAYED, 2)
    assert live_names(file_io, paths) == ["a"]


def test_a_gap_stops_the_stream_and_leaves_no_manifest(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    claim(file_io, paths)

    with pytest.raises(OffsetMismatch, match="partition 0: 5, expected 0"):
        new_committer(file_io, paths).commit_stream_batch(
            [appended(data_file("a"))], stream_batch({0: 5}, {0: 10})
        )

    assert newest(file_io, paths).id == 1
    assert stored_manifests(file_io, paths) == referenced_manifests(file_io, paths)


def test_a_new_claim_fences_the_old_owner(file_io: MemoryFileIO, paths: TablePaths) -> None:
    assert claim(file_io, paths).epoch == 1
    new_committer(file_io, paths).commit_stream_batch([], stream_batch({0: 0}, {0: 4}))
    second = claim(file_io, paths, initial_offsets={0: 999})

    assert (second.epoch, second.offsets, second.batch_id) == (2, {0: 4}, -1)
    with pytest.raises(StreamFenced, match="the table has epoch 2, expected 1"):
        new_committer(file_io, paths).commit_stream_batch([], stream_batch({0: 4}, {0: 5}))


def test_streams_do_not_touch_each_other(file_io: MemoryFileIO, paths: TablePaths) -> None:
    claim(file_io, paths)
    claim(file_io, paths, stream="t", topic="payments", topic_id="")
    committer = new_committer(file_io, paths)
    committer.commit_stream_batch([], stream_batch({0: 0}, {0: 7}))
    committer.commit_stream_batch(
        [], stream_batch({0: 0}, {0: 2}, stream="t", topic="payments", topic_id="")
    )

    positions = committer.stream_positions()
    assert {name: position.offsets for name, position in positions.items()} == {
        "s": {0: 7},
        "t": {0: 2},
    }


def test_every_kind_of_commit_carries_the_streams(file_io: MemoryFileIO, paths: TablePaths) -> None:
    position = claim(file_io, paths)
    committer = new_committer(file_io, paths)
    committer.commit([appended(data_file("a"))], commit_user="u")
    committer.commit(
        [compacted((data_file("a"),), (data_file("b", level=5),))],
        commit_user="u",
        kind=CommitKind.COMPACT,
    )
    committer.commit([], commit_user="u", allow_empty=True)

    assert positions_of(newest(file_io, paths)) == {"s": position}
    assert batch_of(newest(file_io, paths)) is None


def test_streams_survive_commits_of_other_engines(file_io: MemoryFileIO, paths: TablePaths) -> None:
    claim(file_io, paths)
    committer = new_committer(file_io, paths)
    committer.commit_stream_batch([], stream_batch({0: 0}, {0: 7}))
    for _ in range(3):
        commit_foreign(file_io, paths)
    assert positions_of(newest(file_io, paths)) == {}
    assert committer.stream_positions()["s"].offsets == {0: 7}

    committer.commit_stream_batch([], stream_batch({0: 7}, {0: 8}, batch_id=1))

    assert positions_of(newest(file_io, paths))["s"].offsets == {0: 8}


def test_a_stream_is_new_on_a_table_whose_whole_history_never_knew_it(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    for _ in range(3):
        commit_foreign(file_io, paths)

    assert claim(file_io, paths, initial_offsets={0: 8}).offsets == {0: 8}


def test_a_stream_is_new_where_the_newest_authority_does_not_name_it(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    claim(file_io, paths)
    commit_foreign(file_io, paths)
    expire(file_io, paths, keep_from=1)

    assert claim(file_io, paths, stream="t").epoch == 1


def test_a_stream_is_new_on_a_table_of_ours_that_expired_without_streams(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    committer = new_committer(file_io, paths)
    for name in "abc":
        committer.commit([appended(data_file(name))], commit_user="u")
    expire(file_io, paths, keep_from=3)

    assert claim(file_io, paths).epoch == 1


def given_lost_positions(file_io: MemoryFileIO, paths: TablePaths) -> None:
    """Leave snapshots of another engine only; ours, with the positions, have expired."""
    claim(file_io, paths)
    for _ in range(3):
        commit_foreign(file_io, paths)
    expire(file_io, paths, keep_from=3)


def test_a_stream_whose_position_has_expired_refuses_to_start(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    given_lost_positions(file_io, paths)

    with pytest.raises(InvalidRequest, match="its position is not known"):
        claim(file_io, paths)
    assert newest(file_io, paths).id == 4


def test_the_progress_document_is_the_last_resort(file_io: MemoryFileIO, paths: TablePaths) -> None:
    given_lost_positions(file_io, paths)
    noted = StreamPosition(stream="s", epoch=6, topic=TOPIC, topic_id=TOPIC_ID, offsets={0: 70})

    position = claim(file_io, paths, fallback=StreamFallback(position=noted, snapshot_id=2))

    assert (position.epoch, position.offsets) == (7, {0: 70})


def test_a_progress_document_that_may_be_older_than_the_last_commit_is_refused(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    given_lost_positions(file_io, paths)
    noted = StreamPosition(stream="s", epoch=6, topic=TOPIC, topic_id=TOPIC_ID, offsets={0: 70})

    with pytest.raises(InvalidRequest, match="may be older than the last commit"):
        claim(file_io, paths, fallback=StreamFallback(position=noted, snapshot_id=1))

    by_hand = new_committer(file_io, paths).claim_stream(
        "s", topic=TOPIC, initial_offsets={0: 80}, is_new_assumed=True
    )
    assert by_hand.offsets == {0: 80}


def test_every_lost_stream_can_continue_where_its_progress_document_is_new_enough(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    """The first claim makes the newest snapshot one with stream state, but without the other streams."""
    given_lost_positions(file_io, paths)
    for name in "st":
        noted = StreamPosition(stream=name, epoch=6, topic=TOPIC, topic_id=TOPIC_ID, offsets={0: 7})
        fallback = StreamFallback(position=noted, snapshot_id=2)
        assert claim(file_io, paths, stream=name, fallback=fallback).offsets == {0: 7}


def test_positions_are_carried_over_the_commits_of_another_engine(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    claim(file_io, paths)
    committer = new_committer(file_io, paths)
    assert committer.carry_positions(commit_user="u") is None
    commit_foreign(file_io, paths)

    result = committer.carry_positions(commit_user="u")

    assert result is not None
    assert positions_of(newest(file_io, paths))["s"].offsets == {0: 0}
    assert held_from(file_io, paths) == result.snapshot_id == 3


def test_a_stream_advances_the_hold_for_other_engines_once_a_minute(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    """Their expiry respects consumers and does not know positions."""
    clock = ManualClock()
    committer = new_committer(file_io, paths, clock=clock)
    committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})
    seen = [held_from(file_io, paths)]
    for number in range(3):
        clock.advance(ms=40_000)
        batch = stream_batch({0: number}, {0: number + 1}, batch_id=number)
        committer.commit_stream_batch([], batch)
        seen.append(held_from(file_io, paths))

    assert seen == [1, 1, 3, 3]


def held_from(file_io: MemoryFileIO, paths: TablePaths) -> int | None:
    consumer = ConsumerStore(file_io, paths).find(HOLD_ID)
    return None if consumer is None else consumer.next_snapshot


def test_the_table_is_believed_before_the_progress_document(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    claim(file_io, paths)
    noted = StreamPosition(stream="s", epoch=9, topic=TOPIC, topic_id=TOPIC_ID, offsets={0: 70})
    stale = StreamFallback(position=noted, snapshot_id=70)

    assert claim(file_io, paths, fallback=stale).offsets == {0: 0}


def test_one_recovered_stream_does_not_make_other_streams_new(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    """The snapshot of the first claim has one stream; the position of the second may have been lost."""
    given_lost_positions(file_io, paths)
    noted = StreamPosition(stream="s", epoch=6, topic=TOPIC, topic_id=TOPIC_ID)
    claim(file_io, paths, fallback=StreamFallback(position=noted, snapshot_id=2))

    with pytest.raises(InvalidRequest, match="`t` cannot start"):
        claim(file_io, paths, stream="t")
    assert claim(file_io, paths, stream="t", is_new_assumed=True).epoch == 1


def test_a_topic_that_was_created_again_is_not_continued(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    claim(file_io, paths)

    with pytest.raises(OffsetMismatch, match="created-again"):
        claim(file_io, paths, topic_id="created-again")


def test_a_schema_that_cannot_be_read_is_corrupt(file_io: MemoryFileIO, paths: TablePaths) -> None:
    file_io.overwrite(paths.schema(1), b"{")

    with pytest.raises(CorruptData):
        new_committer(file_io, paths).commit([appended(data_file("a"))], commit_user="u")


# Index files


def test_indexes_of_commits_make_up_the_index_of_the_table(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    committer = new_committer(file_io, paths)
    first = appended(data_file("a"), new_index_files=(hash_index("index-1"),), index_base=())
    committer.commit([first], commit_user="u")
    second = appended(
        data_file("b"),
        bucket=1,
        new_index_files=(hash_index("index-2", bucket=1),),
        index_base=("index-1",),
    )
    committer.commit([second], commit_user="u")
    assert index_names(file_io, paths) == ["index-1", "index-2"]

    third = appended(
        data_file("c"),
        new_index_files=(hash_index("index-3"),),
        index_base=("index-1", "index-2"),
    )
    committer.commit([third], commit_user="u")
    committer.commit([], commit_user="u", allow_empty=True)

    assert index_names(file_io, paths) == ["index-2", "index-3"]
    assert stored_manifests(file_io, paths) == referenced_manifests(file_io, paths)


def test_of_two_commits_by_one_index_the_second_conflicts(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    def message(name: str) -> CommitMessage:
        index = hash_index(f"index-{name}")
        return appended(data_file(name), new_index_files=(index,), index_base=())

    committer = new_committer(file_io, paths)
    committer.commit([message("a")], commit_user="u")

    with pytest.raises(CommitConflict, match="new writer"):
        committer.commit([message("b")], commit_user="v")
    assert live_names(file_io, paths) == ["a"]
    assert stored_manifests(file_io, paths) == referenced_manifests(file_io, paths)


def test_an_attempt_after_a_lost_race_builds_on_the_newer_index(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    """Other partitions' indexes may change meanwhile."""
    elsewhere = encode_row([5], [ID])
    index = replace(hash_index("index-2"), partition=elsewhere)
    other = replace(appended(new_index_files=(index,), index_base=()), partition=elsewhere)
    attempts: list[str] = []

    def overtake(step: str) -> None:
        if step == "before create-snapshot":
            attempts.append(step)
            if len(attempts) == 1:
                new_committer(file_io, paths).commit([other], commit_user="v")

    message = appended(data_file("a"), new_index_files=(hash_index("index-1"),), index_base=())
    result = new_committer(file_io, paths, on_step=overtake).commit([message], commit_user="u")

    assert result.attempts == 2
    assert index_names(file_io, paths) == ["index-1", "index-2"]
    assert stored_manifests(file_io, paths) == referenced_manifests(file_io, paths)


def test_two_writers_that_index_one_bucket_are_refused(
    file_io: MemoryFileIO, paths: TablePaths
) -> None:
    messages = [
        appended(data_file(name), new_index_files=(hash_index(f"index-{name}"),), index_base=())
        for name in "ab"
    ]

    with pytest.raises(InvalidRequest, match="two writers indexed"):
        new_committer(file_io, paths).commit(messages, commit_user="u")
