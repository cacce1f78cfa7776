"""Schemas are created once each, and the highest is the newest."""

from dataclasses import replace

import pytest

from braid.lake.errors import InvalidRequest
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.snapshots.schema_store import SchemaStore
from tests.support.committing import table_schema
from tests.support.faulty_file_io import FaultyFileIO

PATHS = TablePaths("/t")


def test_a_directory_without_schemas_is_no_table() -> None:
    assert SchemaStore(MemoryFileIO(), PATHS).latest() is None


def test_the_highest_id_is_the_newest() -> None:
    store = SchemaStore(MemoryFileIO(), PATHS)
    for schema_id in range(11):
        assert store.create(table_schema(schema_id=schema_id))

    assert store.latest_id() == 10
    assert store.latest() == table_schema(schema_id=10)
    assert store.get(3) == table_schema(schema_id=3)


def test_a_schema_id_is_given_once() -> None:
    file_io = MemoryFileIO()
    assert SchemaStore(file_io, PATHS).create(table_schema())

    other = replace(table_schema(), comment="another")

    assert not SchemaStore(file_io, PATHS).create(other)
    assert SchemaStore(file_io, PATHS).latest() == table_schema()


def test_creating_an_equal_schema_twice_succeeds() -> None:
    file_io = MemoryFileIO()
    store = SchemaStore(file_io, PATHS)
    store.create(table_schema())

    assert store.create(table_schema())


def test_a_schema_is_read_once() -> None:
    file_io = FaultyFileIO(MemoryFileIO())
    store = SchemaStore(file_io, PATHS)
    store.create(table_schema())

    for _ in range(3):
        store.get(0)

    assert [method for method, _ in file_io.calls].count("read_bytes") == 1


def test_a_missing_schema_is_named_with_those_there_are() -> None:
    store = SchemaStore(MemoryFileIO(), PATHS)
    store.create(table_schema())

    with pytest.raises(InvalidRequest, match=r"no schema 7, found \[0\]"):
        store.get(7)


def test_other_files_in_the_directory_are_no_schemas() -> None:
    file_io = MemoryFileIO()
    store = SchemaStore(file_io, PATHS)
    store.create(table_schema())
    file_io.write_new(PATHS.schema_dir + "/.schema-1.x.tmp", b"")
    file_io.write_new(PATHS.schema_dir + "/schema-copy", b"")

    assert store.latest_id() == 0
