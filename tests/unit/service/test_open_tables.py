"""The cache of open tables."""

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, TableNotFound
from braid.service.open_tables import OpenTables

IDLE_MS = 1_000


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog("/w", file_io=MemoryFileIO())
    for name in "abcd":
        catalog.create_table(
            f"db.{name}", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1"}
        )
    return catalog


def given_tables(catalog: Catalog, clock: ManualClock) -> OpenTables:
    return OpenTables(catalog, clock=clock, tables_max=3, idle_ms=IDLE_MS)


def test_a_table_that_is_used_again_is_the_cached_one(catalog: Catalog) -> None:
    tables = given_tables(catalog, ManualClock())

    assert tables.get("db.a") is tables.get("db.a")


def test_beyond_the_bound_the_least_recently_used_table_is_evicted(catalog: Catalog) -> None:
    tables = given_tables(catalog, ManualClock())
    for name in "abcad":
        tables.get(f"db.{name}")

    assert tables.names == ("db.c", "db.a", "db.d")


def test_an_idle_table_is_evicted(catalog: Catalog) -> None:
    clock = ManualClock()
    tables = given_tables(catalog, clock)
    tables.get("db.a")
    clock.advance(ms=IDLE_MS)
    tables.get("db.b")
    assert [*tables.names] == ["db.a", "db.b"]

    clock.advance(ms=1)
    tables.get("db.b")

    assert [*tables.names] == ["db.b"]


def test_a_table_that_was_created_again_is_opened_again(catalog: Catalog) -> None:
    tables = given_tables(catalog, ManualClock())
    old = tables.get("db.a")
    catalog.drop_table("db.a")
    with pytest.raises(TableNotFound, match=r"there is no table db\.a"):
        tables.get("db.a")

    assert tables.names == ()
    catalog.create_table("db.a", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1"})
    assert tables.get("db.a") is not old
