"""The joint index finds what searches of its files find."""

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.read.lookup.bucket_lookup import BucketLookup
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.read.lookup.joint_index import JOINT_ROWS_MAX
from braid.lake.read.lookup.key_matches import KeyMatches
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.wanted_keys import wanted_keys
from tests.given_tables import GivenTable, given_schema

FILES = 7


def given_lookup(rows_per_file: int) -> tuple[GivenTable, BucketLookup]:
    """Return files of level 0 with random keys, and one of level 5 below them."""
    table = GivenTable(schema=given_schema({"k": "INT", "s": "STRING", "v": "INT"}, key=["k", "s"]))
    random = np.random.default_rng(4)
    for file in range(FILES + 1):
        keys = np.sort(random.choice(3 * rows_per_file, rows_per_file, replace=False)).tolist()
        table.write(*[[key, f"text {key % 5}", file] for key in keys])
    table.move(0, 5)
    cache = LookupCache(CopyStore(), "t", max_disk_bytes=0, max_memory_bytes=1 << 30)
    return table, BucketLookup(
        cache,
        file_io=table.file_io,
        paths=table.paths,
        schema=table.schema,
        partition=table.entries[0].partition,
        bucket=0,
        files=[entry.file for entry in table.entries],
    )


def found_in(lookup: BucketLookup, table: GivenTable, keys: list[int]) -> KeyMatches:
    rows = pa.table({"k": pa.array(keys, pa.int32()), "s": [f"text {key % 5}" for key in keys]})
    return lookup.find_all(wanted_keys(rows, table.schema), np.arange(len(keys)))


def values(lookup: BucketLookup, found: KeyMatches) -> list[tuple[int, int]]:
    records = lookup.records(found, ["v"])
    return list(zip(found.keys.tolist(), records.column("v").to_pylist(), strict=True))


@pytest.mark.parametrize("keys", [1, 4, 5, 200])
def test_all_records_of_a_key_are_found_newest_file_first(keys: int) -> None:
    table, lookup = given_lookup(50)
    wanted = np.random.default_rng(1).choice(160, keys).tolist()
    one_by_one = values(lookup, found_in(lookup, table, wanted))
    for load in lookup.load_tasks(["v"]):
        load()

    together = values(lookup, found_in(lookup, table, wanted))

    assert lookup._joint is not None
    assert together == one_by_one
    rows = {(row[0], row[2]) for row in table.read()}
    newest = {
        wanted[number]: max(v for other, v in together if other == number) for number, _ in together
    }
    assert set(newest.items()) == {row for row in rows if row[0] in wanted}
    of_keys = [[v for other, v in together if other == number] for number in range(keys)]
    assert of_keys == [sorted(found, reverse=True) for found in of_keys]


def test_large_files_are_searched_one_by_one() -> None:
    table, lookup = given_lookup(JOINT_ROWS_MAX // FILES + 1)
    for load in lookup.load_tasks(["v"]):
        load()

    found_in(lookup, table, [1, 2, 3])

    assert lookup._joint is None


def test_a_search_above_level_0_does_not_use_the_joint_index() -> None:
    table, lookup = given_lookup(50)
    for load in lookup.load_tasks(["v"]):
        load()
    found_in(lookup, table, [1])
    rows = pa.table(
        {"k": pa.array(range(150), pa.int32()), "s": [f"text {key % 5}" for key in range(150)]}
    )

    found = lookup.find(rows, above_level=0)

    assert {file.level for file in found.files} == {5}
    assert len(found) == 50
