"""Iceberg metadata follow the compacted files through every operation, failure and race."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import pytest

from braid.lake import (
    Catalog,
    FileIO,
    ManualClock,
    MemoryFileIO,
    RemoveOption,
    SetOption,
    StorageUnavailable,
    Table,
)
from braid.lake.files.paths import TablePaths
from braid.lake.format.schema import serialize_schema
from braid.lake.iceberg.publication import publish
from braid.lake.snapshots.table_store import TableStore, table_store
from tests.support.fault_sweep import Sweep
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import copied
from tests.unit.lake.iceberg.given_metadata import (
    DIRECTORY,
    ON,
    STORAGE,
    names_in,
    published,
    top_files,
)
from tests.unit.lake.maintenance.given_compactions import (
    PATH,
    WAREHOUSE,
    given_table,
    read,
    reopened,
    write,
)
from tests.unit.lake.maintenance.given_histories import late

ALL = 1 << 60
"""Later than every snapshot."""


def compacted(table: Table, *values: tuple[object, ...], p: str = "x") -> int:
    """Write rows, compact fully, and return the snapshot of that."""
    write(table, *values, p=p)
    snapshot_id = table.compact().snapshot_id
    assert snapshot_id is not None
    return snapshot_id


def store_of(table: Table, file_io: FileIO | None = None) -> TableStore:
    """Return a store as another process opens it."""
    return table_store(
        file_io or table.file_io,
        TablePaths(PATH),
        table.schema,
        clock=ManualClock(),
        new_uuid=uuid4,
    )


def without_metadata(file_io: FileIO) -> FaultyFileIO:
    """Return the storage as it is while the directory of the metadata is out of reach."""

    def fail(_number: int, method: str, path: str) -> None:
        if path.startswith(DIRECTORY):
            message = f"{method} {path}"
            raise StorageUnavailable(message)

    faulty = FaultyFileIO(file_io)
    faulty.before = fail
    return faulty


def assert_newest(table: Table) -> None:
    assert published(table.file_io).names == top_files(table) != []


def test_a_table_without_the_option_has_no_metadata() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io=file_io)
    compacted(table, (1, 10))
    calls = FaultyFileIO(file_io)

    assert publish(store_of(table, calls)) is None
    assert calls.calls == []
    assert names_in(file_io) == []


def test_metadata_have_the_files_of_the_highest_level_and_the_snapshots() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io, partition=["p"])
    first = compacted(table, (1, 10), (2, None), p="a")
    second = compacted(table, (1, 20), p="b")
    write(table, (3, 30), p="a")

    found = published(file_io)

    assert_newest(table)
    assert (found.version, found.snapshots, found.current) == (second, [first, second], second)
    assert found.document["snapshots"][1]["parent-snapshot-id"] == first
    assert found.document["location"] == PATH
    assert {entry.file.partition for e in found.entries.values() for entry in e} == {("a",), ("b",)}
    summary = found.document["snapshots"][1]["summary"]
    assert (summary["operation"], summary["total-records"]) == ("append", "3")


def test_only_manifests_with_changed_files_are_written_again() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io, partition=["p"])
    compacted(table, (1, 10), p="a")
    compacted(table, (1, 20), p="b")
    before = set(published(file_io).entries)

    compacted(table, (1, 30), p="a")

    found = published(file_io)
    assert len(before) == 2
    assert len(before & set(found.entries)) == 1
    assert found.document["snapshots"][-1]["summary"]["operation"] == "overwrite"
    assert_newest(table)


def test_many_small_manifests_are_merged_and_deletions_left_out() -> None:
    file_io = MemoryFileIO()
    few = {
        "metadata.iceberg.compaction.min.file-num": "2",
        "metadata.iceberg.compaction.max.file-num": "4",
    }
    table = given_table({**ON, **few}, file_io=file_io, partition=["p"])
    for name in "abcdefgh":
        compacted(table, (1, 10), p=name)
        assert len(published(file_io).entries) < 4

    compacted(table, (1, 11), p="a")
    compacted(table, (1, 12), p="b")
    assert_newest(table)


def test_an_append_publishes_nothing() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    write(table, (1, 10))

    assert names_in(file_io) == []


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, 1),
        ({"metadata.iceberg.previous-versions-max": "2"}, 3),
        ({"metadata.iceberg.delete-after-commit.enabled": "false"}, 5),
    ],
)
def test_older_versions_are_kept_as_declared(options: dict[str, str], kept: int) -> None:
    file_io = MemoryFileIO()
    table = given_table({**ON, **options}, file_io=file_io)
    versions = [compacted(table, (1, value)) for value in range(5)]

    found = [name for name in names_in(file_io) if name.endswith(".json")]
    assert sorted(found) == sorted(f"v{version}.metadata.json" for version in versions[-kept:])


def test_metadata_of_a_hadoop_catalog_are_below_the_warehouse_and_dropped_with_the_table() -> None:
    file_io = MemoryFileIO()
    table = given_table({STORAGE: "hadoop-catalog"}, file_io=file_io)
    compacted(table, (1, 10))
    directory = f"{WAREHOUSE}/iceberg/db/t/metadata"

    assert published(file_io, directory).names == top_files(table)
    assert names_in(file_io) == []

    other = f"{WAREHOUSE}/iceberg/db/other/metadata/v1.metadata.json"
    file_io.write_new(other, b"")
    catalog = Catalog(WAREHOUSE, file_io=file_io)
    catalog.drop_table("db.t")
    assert names_in(file_io, directory) == []
    assert file_io.exists(other)


def test_a_table_without_the_option_leaves_the_catalogs_directory_alone() -> None:
    file_io = MemoryFileIO()
    given_table(file_io=file_io)
    foreign = f"{WAREHOUSE}/iceberg/db/t/metadata/v1.metadata.json"
    file_io.write_new(foreign, b"")

    late(file_io).clean_orphans(min_age_ms=0, delete=True)
    Catalog(WAREHOUSE, file_io=file_io).drop_table("db.t")

    assert file_io.exists(foreign)


def test_deleted_rows_leave_the_metadata_with_the_compaction() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    compacted(table, (1, 10), (2, 20))
    write(table, (1, None), kinds="-D")
    write(table, (2, None), kinds="-D")

    table.compact()

    found = published(file_io)
    assert found.names == top_files(table) == []
    assert found.document["snapshots"][-1]["summary"]["total-records"] == "0"


def test_tags_are_refs_as_long_as_they_exist() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    first = compacted(table, (1, 10))
    table.create_tag("early")
    second = compacted(table, (1, 20))
    write(table, (2, 30))
    third = table.create_tag("appended").snapshot.id

    assert published(file_io).refs == {"early": first, "appended": third}
    assert published(file_io).snapshots == [first, second, third]

    table.delete_tag("early")
    assert published(file_io).refs == {"appended": third}
    assert_newest(table)


def test_a_tagged_snapshot_outlives_expiry_and_no_other_does() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    first = compacted(table, (1, 10))
    table.create_tag("early")
    compacted(table, (1, 20))
    last = compacted(table, (1, 30))

    table.expire(retain_min=1, retain_max=1, older_than_ms=ALL)

    assert published(file_io).snapshots == [first, last]
    assert_newest(table)

    table.delete_tag("early")
    assert published(file_io).snapshots == [last]
    assert late(file_io).clean_orphans(min_age_ms=0).files == ()


def test_expiry_catches_up_what_a_compaction_did_not_publish() -> None:
    file_io = MemoryFileIO()
    compacted(given_table(file_io=file_io), (1, 10))
    reopened(file_io).alter(SetOption(key=STORAGE, value="table-location"))
    table = reopened(file_io)

    table.expire()

    assert_newest(table)


def test_a_rollback_takes_the_metadata_back() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    target = compacted(table, (1, 10))
    before = published(file_io).names
    compacted(table, (1, 20))
    removed = compacted(table, (1, 30))

    table.rollback(snapshot_id=target)

    found = published(file_io)
    assert found.names == before == top_files(table)
    assert found.version < removed
    again = compacted(table, (1, 40))
    assert again < removed
    assert published(file_io).version == again
    assert_newest(table)
    late(file_io).clean_orphans(min_age_ms=0, delete=True)
    assert_newest(table)


def test_a_schema_change_is_in_the_metadata_with_the_next_compaction() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    compacted(table, (1, 10))
    table.alter(SetOption(key="snapshot.num-retained.min", value="3"))
    compacted(table, (1, 20))

    found = published(file_io).document
    assert [schema["schema-id"] for schema in found["schemas"]] == [0, 1]
    assert found["current-schema-id"] == 1


def test_metadata_that_cannot_be_read_are_written_anew() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    version = compacted(table, (1, 10))
    file_io.overwrite(f"{DIRECTORY}/v{version}.metadata.json", b"{")
    compacted(reopened(file_io), (1, 20))

    assert_newest(reopened(file_io))

    (lost, *_) = [name for name in names_in(file_io) if name.endswith("-m1.avro")]
    file_io.delete(f"{DIRECTORY}/{lost}")
    compacted(reopened(file_io), (1, 30))
    assert_newest(reopened(file_io))


def test_orphan_cleaning_finds_dead_metadata_and_no_other() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    compacted(table, (1, 10))
    compacted(table, (1, 20))
    live = names_in(file_io)
    dead = ["lost-m1.avro", "snap-1-lost.avro", "v1.metadata.json", ".v9.metadata.json.1.tmp"]
    for name in (*dead, "notes.txt"):
        file_io.write_new(f"{DIRECTORY}/{name}", b"")

    report = late(file_io).clean_orphans(min_age_ms=0, delete=True)

    assert sorted(file.path for file in report.files) == sorted(f"{DIRECTORY}/{n}" for n in dead)
    assert names_in(file_io) == sorted([*live, "notes.txt"])
    assert_newest(table)


def test_orphan_cleaning_deletes_no_file_that_the_metadata_name() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    target = compacted(table, (1, 10))
    compacted(table, (1, 20))
    reopened(without_metadata(file_io)).rollback(snapshot_id=target)

    late(file_io).clean_orphans(min_age_ms=0, delete=True)

    assert_newest(reopened(file_io))


def test_a_tag_that_cannot_be_read_keeps_no_other_from_its_deletion() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    compacted(table, (1, 10))
    table.create_tag("whole")
    file_io.write_new(TablePaths(PATH).tag("damaged"), b"{")

    table.delete_tag("whole")

    assert published(file_io).refs == {}
    assert [file.name for file in store_of(table).tags.files()] == ["damaged"]


def test_metadata_are_dead_once_the_option_is_removed() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    compacted(table, (1, 10))
    table.alter(RemoveOption(key=STORAGE))

    late(file_io).clean_orphans(min_age_ms=0, delete=True)

    assert names_in(file_io) == []
    assert read(table) == [("x", 1, 10, None)]


@pytest.mark.parametrize(
    "foreign",
    [
        {STORAGE: "table-location", "metadata.iceberg.format-version": "3"},
        {STORAGE: "table-location", "deletion-vectors.enabled": "true"},
        {STORAGE: "rest-catalog"},
    ],
)
def test_metadata_that_only_another_engine_writes_are_left_to_it(foreign: dict[str, str]) -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io=file_io)
    compacted(table, (1, 10))
    # As another engine declares the table: by its schema file alone.
    schema = replace(table.schema, id=1, options={**table.schema.options, **foreign})
    file_io.write_new(TablePaths(PATH).schema(1), serialize_schema(schema))
    document = f"{DIRECTORY}/v1.metadata.json"
    file_io.write_new(document, b"")

    assert publish(store_of(reopened(file_io))) is None
    late(file_io).clean_orphans(min_age_ms=0, delete=True)
    reopened(file_io).expire()
    assert file_io.exists(document)


class Interrupted:
    """Storage on which others act once, right before a file of a kind is written."""

    def __init__(self, inner: FileIO, suffix: str, others: Callable[[], object]) -> None:
        self.file_io = FaultyFileIO(inner)
        self._suffix = suffix
        self._others = others
        self.file_io.before = self._before

    def _before(self, _number: int, method: str, path: str) -> None:
        if method in ("create_exclusive", "overwrite") and path.endswith(self._suffix):
            self.file_io.before = lambda *_: None
            self._others()


@pytest.mark.parametrize("suffix", [".metadata.json", "version-hint.text"])
@pytest.mark.parametrize("is_newer", [True, False])
def test_of_two_processes_the_newest_snapshot_wins(suffix: str, is_newer: bool) -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    compacted(table, (1, 10))
    plain = reopened(file_io)
    plain.alter(RemoveOption(key=STORAGE))  # so that the compaction publishes nothing
    compacted(plain, (1, 20))
    plain.alter(SetOption(key=STORAGE, value="table-location"))

    def other() -> None:
        if is_newer:
            compacted(reopened(file_io), (1, 30))
        else:
            publish(store_of(reopened(file_io)))

    slow = Interrupted(file_io, suffix, other)
    publish(store_of(reopened(file_io), slow.file_io))

    assert_newest(reopened(file_io))
    found = published(file_io)
    table = reopened(file_io)
    assert compacted(table, (1, 40)) > found.version
    assert_newest(table)
    late(file_io).clean_orphans(min_age_ms=0, delete=True)
    assert_newest(table)


def test_a_compaction_whose_publication_fails_is_committed_and_caught_up() -> None:
    file_io = MemoryFileIO()
    table = given_table(ON, file_io=file_io)
    compacted(table, (1, 10))
    faulty = without_metadata(file_io)
    compacted(reopened(faulty), (1, 20))

    assert read(reopened(file_io)) == [("x", 1, 20, None)]
    published(file_io)  # the state before, whole
    with pytest.raises(StorageUnavailable):
        reopened(faulty).expire(retain_min=1, retain_max=1, older_than_ms=ALL)
    published(file_io)  # so nothing that it names was deleted
    reopened(file_io).expire(retain_min=1, retain_max=1, older_than_ms=ALL)
    assert_newest(reopened(file_io))


@pytest.mark.sweep
@pytest.mark.parametrize("is_done", [True, False])
def test_a_publication_that_fails_or_dies_anywhere_is_caught_up(is_done: bool) -> None:
    given = MemoryFileIO()
    table = given_table(ON, file_io=given, partition=["p"])
    for value in range(3):
        compacted(table, (1, value), p="a")
    compacted(table, (1, 1), p="b")
    table.alter(RemoveOption(key=STORAGE))
    compacted(reopened(given), (1, 9), p="a")
    reopened(given).alter(SetOption(key=STORAGE, value="table-location"))
    sweep = Sweep(
        given=copied(given),
        opened=reopened,
        act=lambda opened: publish(store_of(opened), expiring_below=4),
        share=3,
    )
    ends = [
        *(sweep.deaths() if is_done else ()),
        *sweep.failures(is_done=is_done, is_lasting=True),
    ]

    assert ends
    for end in ends:
        published(end.file_io)
        after = reopened(end.file_io)
        after.expire(retain_min=1, retain_max=1, older_than_ms=ALL)
        assert_newest(after)
        late(end.file_io).clean_orphans(min_age_ms=0, delete=True)
        assert_newest(after)
        assert late(end.file_io).clean_orphans(min_age_ms=0).files == (), end.fault
