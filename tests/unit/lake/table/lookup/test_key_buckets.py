"""Keys tell their buckets where the table's rule of routing needs nothing else."""

from typing import Any

import pyarrow as pa

from braid.lake import Catalog, MemoryFileIO, Table
from braid.lake.format.bucket import BucketId
from braid.lake.table.lookup.key_buckets import own_buckets
from braid.lake.table.lookup.lookup_keys import LookupKeys

COLUMNS = [("day", "INT"), ("id", "BIGINT"), ("v", "INT")]


def given_table(**given: Any) -> Table:
    catalog = Catalog("/wh", file_io=MemoryFileIO())
    return catalog.create_table("db.t", columns=COLUMNS, **given)


def buckets(table: Table, keys: list[dict[str, Any]]) -> frozenset[BucketId] | None:
    return own_buckets(LookupKeys(table.schema).from_values(keys), table.schema)


def test_buckets_are_those_that_a_writer_chooses() -> None:
    table = given_table(primary_key=["day", "id"], partition_keys=["day"], options={"bucket": "4"})
    keys = [{"day": day, "id": number} for day in (1, 2) for number in range(5)]
    rows = [{**key, "v": 1} for key in keys]
    table.write_and_commit(pa.Table.from_pylist(rows, schema=table.schema.arrow_schema))
    snapshot = table.latest_snapshot()
    assert snapshot is not None

    found = buckets(table, keys)

    assert found is not None
    assert set(found) == {(entry.partition, entry.bucket) for entry in table.live_files(snapshot)}
    assert len({partition for partition, _ in found}) == 2


def test_a_key_with_a_null_is_in_no_bucket() -> None:
    table = given_table(primary_key=["id"], options={"bucket": "4"})

    assert buckets(table, [{"id": None}]) == frozenset()


def test_keys_do_not_tell_dynamic_buckets_nor_partitions_outside_of_them() -> None:
    dynamic = given_table(primary_key=["id"])

    assert buckets(dynamic, [{"id": 1}]) is None
