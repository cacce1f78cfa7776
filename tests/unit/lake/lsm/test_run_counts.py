"""The number of runs per bucket equals the number that compactions use."""

from pathlib import Path

import pyarrow as pa

from braid.lake import Catalog, Table
from braid.lake.lsm.levels import levels_of
from braid.lake.lsm.run_counts import count_runs


def given_table(path: Path) -> Table:
    return Catalog(str(path)).create_table(
        "shop.orders",
        columns=[("p", "INT"), ("k", "INT")],
        primary_key=["p", "k"],
        partition_keys=["p"],
        options={"bucket": "2", "num-sorted-run.compaction-trigger": "3"},
    )


def write(table: Table, *partitions: int) -> None:
    rows = [(partition, key) for partition in partitions for key in range(20)]
    columns = {"p": [row[0] for row in rows], "k": [row[1] for row in rows]}
    table.write_and_commit(pa.table(columns, pa.schema([("p", pa.int32()), ("k", pa.int32())])))


def test_there_are_no_runs_without_files() -> None:
    assert count_runs([]) == {}


def test_every_bucket_of_every_partition_has_the_runs_of_its_levels(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    assert table.runs_per_bucket() == {}
    write(table, 1, 2)
    write(table, 1)
    write(table, 1)
    table.compact(full=False)
    write(table, 1, 2)

    newest = table.latest_snapshot()
    assert newest is not None
    entries = table.live_files(newest)
    buckets = {(entry.partition, entry.bucket) for entry in entries}
    counts = table.runs_per_bucket()

    assert len(buckets) == 4
    assert sorted(counts.values()) == [2, 2, 2, 2]
    for bucket in buckets:
        files = [e.file for e in entries if (e.partition, e.bucket) == bucket]
        assert counts[bucket] == len(levels_of(files, table.schema.table_options).runs)
    assert {entry.file.level for entry in entries} > {0}
