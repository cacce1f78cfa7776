"""Tags are created once, found by name, and listed by snapshot."""

from dataclasses import replace

import pytest

from braid.lake.errors import CorruptData, InvalidRequest
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.tag import Tag, serialize_tag
from braid.lake.snapshots.tag_store import TagStore, branch_paths, list_branches
from tests.unit.lake.snapshots.test_snapshot_store import SNAPSHOT

PATHS = TablePaths("/t")


def given_tag(name: str, snapshot_id: int = 1) -> Tag:
    return Tag(name=name, snapshot=replace(SNAPSHOT, id=snapshot_id))


def test_a_tag_is_found_by_name_and_listed_by_snapshot() -> None:
    store = TagStore(MemoryFileIO(), PATHS)
    for tag in (late := given_tag("a", 7), early := given_tag("z", 2), same := given_tag("b", 7)):
        assert store.create(tag)

    assert store.find("a") == late
    assert store.list() == [early, late, same]
    assert store.names() == ["a", "b", "z"]


def test_a_name_is_taken_once() -> None:
    store = TagStore(MemoryFileIO(), PATHS)
    store.create(given_tag("a", 1))

    assert not store.create(given_tag("a", 2))
    assert store.get("a").snapshot.id == 1


def test_a_deleted_tag_is_absent() -> None:
    store = TagStore(MemoryFileIO(), PATHS)
    store.create(given_tag("a"))

    assert store.delete("a")
    assert not store.delete("a")
    assert store.find("a") is None
    with pytest.raises(InvalidRequest, match="the table has no tag"):
        store.get("a")


def test_a_missing_tag_is_reported_with_the_existing_ones() -> None:
    store = TagStore(MemoryFileIO(), PATHS)
    store.create(given_tag("nightly"))

    with pytest.raises(InvalidRequest, match="expected one of nightly"):
        store.get("nightli")


@pytest.mark.parametrize("name", ["", " a", "a/b", "../x", "a\n", "\0"])
def test_a_name_that_cannot_be_a_file_name_is_refused(name: str) -> None:
    store = TagStore(MemoryFileIO(), PATHS)

    with pytest.raises(InvalidRequest, match="tag"):
        store.create(given_tag(name))
    with pytest.raises(InvalidRequest, match="tag"):
        store.find(name)


def test_a_file_of_another_program_is_a_tag_whatever_its_name() -> None:
    file_io = MemoryFileIO()
    store = TagStore(file_io, PATHS)
    store.create(given_tag("a", 1))
    file_io.write_new(PATHS.tag("b "), serialize_tag(given_tag("b ", 2)))

    assert [tag.name for tag in store.list()] == ["a", "b "]
    assert store.get("b ").snapshot.id == 2
    assert store.delete("b ")
    assert store.names() == ["a"]


def test_a_torn_tag_stops_the_listing() -> None:
    file_io = MemoryFileIO()
    file_io.write_new(PATHS.tag("a"), b"{")

    with pytest.raises(CorruptData, match="tag-a"):
        TagStore(file_io, PATHS).list()


def test_other_files_are_not_tags() -> None:
    file_io = MemoryFileIO()
    for name in (".tag-a.x.tmp", "tag-", "a"):
        file_io.write_new(f"{PATHS.tag_dir}/{name}", b"")

    assert TagStore(file_io, PATHS).names() == []


def test_a_branch_has_tags_of_its_own() -> None:
    file_io = MemoryFileIO()
    TagStore(file_io, PATHS).create(given_tag("a"))
    TagStore(file_io, replace(PATHS, branch="b")).create(given_tag("c"))

    assert list_branches(file_io, PATHS) == ["b"]
    assert TagStore(file_io, branch_paths(file_io, PATHS, "b")).names() == ["c"]
    with pytest.raises(InvalidRequest, match="expected one of b"):
        branch_paths(file_io, PATHS, "x")
