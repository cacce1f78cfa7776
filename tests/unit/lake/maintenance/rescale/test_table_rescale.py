"""Another bucket count: every key keeps its records, and readers and writers continue."""

import itertools
import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    CorruptData,
    FileIO,
    ManualClock,
    MemoryFileIO,
    Table,
)
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.deletion_vectors import VectorStore, vector_entries
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.given_tables import given_kinds

pytestmark = pytest.mark.slow

PARTITIONED = ("p",)


def given_table(
    options: Mapping[str, str],
    *,
    file_io: FileIO | None = None,
    partition: tuple[str, ...] = (),
) -> Table:
    """Return an empty table (p STRING, k STRING, v INT, g INT, w STRING)."""
    catalog = Catalog(
        "/wh", file_io=file_io or MemoryFileIO(), clock=ManualClock(), random=random.Random(3)
    )
    return catalog.create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "STRING"), ("v", "INT"), ("g", "INT"), ("w", "STRING")],
        primary_key=["p", "k"],
        partition_keys=partition,
        options=options,
    )


def rows(*values: tuple[object, ...]) -> pa.Table:
    """Return rows of (p, k, v, g, w); values that are left out at the end are null."""
    types = [pa.string(), pa.string(), pa.int32(), pa.int32(), pa.string()]
    full = [(*value, None, None, None)[:5] for value in values]
    return pa.table(
        {
            name: pa.array([row[number] for row in full], types[number])
            for number, name in enumerate(["p", "k", "v", "g", "w"])
        }
    )


def write(table: Table, *values: tuple[object, ...], kinds: str | None = None) -> int:
    return table.write_and_commit(rows(*values), kinds=given_kinds(kinds)).snapshot_id


def read(table: Table, snapshot_id: int | None = None) -> list[tuple[object, ...]]:
    found = table.scan(at=snapshot_id).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def totals(table: Table) -> set[int]:
    """Return the bucket counts of the live files."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return {entry.total_buckets for entry in table.live_files(snapshot)}


def records(table: Table) -> dict[tuple[object, object], list[tuple[object, ...]]]:
    """Return by key all physical records that are not marked: level, number, kind and values."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    indexes = vector_entries(
        ()
        if snapshot.index_manifest is None
        else ManifestStore(table.file_io, table.paths).read_index_manifest(snapshot.index_manifest)
    )
    store = VectorStore(table.file_io, table.paths)
    found: dict[tuple[object, object], list[tuple[object, ...]]] = defaultdict(list)
    for entry in table.live_files(snapshot):
        path = live_file_path(table.paths, table.schema, entry.partition, entry.bucket, entry.file)
        reader = DataFileReader(table.file_io, path, file_meta=entry.file, schema=table.schema)
        index = indexes.get((entry.partition, entry.bucket))
        marked = store.read(index).vectors.get(entry.file.file_name)
        batches = reader.batches(
            table.schema.field_names, batch_rows=1000, batch_bytes=1 << 20, marked=marked
        )
        for batch in batches:
            for row in batch.to_pylist():
                values = tuple(row.values())
                found[row["p"], row["k"]].append((entry.file.level, *values))
    return {key: sorted(value, key=repr) for key, value in found.items()}


COUNTS = [(2, 6), (6, 2), (4, 6), (3, 1), (1, 5), (5, 12)]

ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "v",
        "partial-update.remove-record-on-delete": "false",
        "ignore-delete": "true",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.g.aggregate-function": "max",
        "fields.g.ignore-retract": "true",
        "fields.w.aggregate-function": "last_non_null_value",
        "fields.w.ignore-retract": "true",
    },
    "first-row": {"merge-engine": "first-row", "ignore-delete": "true"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "told": {"changelog-producer": "full-compaction"},
    "input": {"changelog-producer": "input"},
    "sequence": {"sequence.field": "g"},
    "snapshots": {"sequence.snapshot-ordering": "true", "write-only": "true"},
}


def given_history(table: Table, seed: int) -> None:
    """Write at random, with compactions in between; in the end level 0 and higher levels have files."""
    draw = random.Random(seed)
    for number in range(6):
        some = [
            (
                draw.choice("xy"),
                f"key {draw.randrange(40)}",
                draw.randrange(100),
                draw.randrange(20),
                draw.choice(["a", "b", None]),
            )
            for _ in range(25)
        ]
        may_delete = (
            not {"ignore-delete", "sequence.snapshot-ordering"} & table.schema.options.keys()
        )
        kinds = "".join(draw.choice("+++-") for _ in some) if may_delete else "+" * len(some)
        write(table, *some, kinds=" ".join("-D" if kind == "-" else "+I" for kind in kinds))
        if number in (1, 3):
            table.compact(full=number == 1)


# Each engine runs with partitions for some rounds, and one without; marks are moved in both.
WAYS = [
    *(
        (engine, counts, PARTITIONED)
        for engine, counts in zip(ENGINES, itertools.cycle(COUNTS), strict=False)
    ),
    *(("deduplicate", counts, ()) for counts in COUNTS[3:]),
    *(("vectors", counts, ()) for counts in COUNTS[1:3]),
]


@pytest.mark.parametrize(("engine", "counts", "partition"), WAYS)
def test_every_key_keeps_its_records(
    engine: str, counts: tuple[int, int], partition: tuple[str, ...]
) -> None:
    options = {**ENGINES[engine], "target-file-size": "2 kb"}
    table = given_table({**options, "bucket": str(counts[0])}, partition=partition)
    given_history(table, seed=counts[0] * 100 + counts[1])
    before, physical = read(table), records(table)
    old = table.latest_snapshot()
    assert old is not None

    result = table.rescale(counts[1])

    assert table.schema.table_options.bucket == counts[1]
    assert totals(table) == {counts[1]}
    assert read(table) == before
    assert read(table, old.id) == before
    assert sorted(map(tuple_of, looked_up(table)), key=repr) == before
    assert records(table) == physical
    assert result.rows == sum(len(value) for value in records(table).values())
    newest = table.latest_snapshot()
    assert newest is not None
    assert (newest.commit_kind, newest.id) == (CommitKind.OVERWRITE, result.snapshot_id)
    assert newest.schema_id == table.schema.id == result.schema_id


def looked_up(table: Table) -> list[dict[str, object]]:
    """Return the rows that a lookup of all possible keys finds."""
    every = [(p, f"key {number}") for p in "xy" for number in range(41)]
    keys = pa.table({"p": [p for p, _ in every], "k": [k for _, k in every]})
    found: list[dict[str, object]] = table.lookup(keys).to_pylist()
    return found


def tuple_of(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row.values())


@pytest.mark.parametrize("engine", ENGINES)
def test_later_writes_and_compactions_give_the_same_rows(engine: str) -> None:
    tables = [given_table({**ENGINES[engine], "bucket": "2"}) for _ in range(2)]
    for table in tables:
        given_history(table, seed=7)
    rescaled, plain = tables
    rescaled.rescale(3)
    first = rescaled.latest_snapshot()
    assert first is not None

    for table in tables:
        given_history(table, seed=8)
        table.compact()

    assert read(rescaled) == read(plain)
    assert changes(rescaled, first.id + 1) == changes(plain, first.id)


def changes(table: Table, first: int) -> list[tuple[object, ...]]:
    """Return the changes from a snapshot on, in any order."""
    newest = table.latest_snapshot()
    assert newest is not None
    found = table.changes(first - 1, newest.id).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}])
def test_the_cost_depends_on_rows_and_not_on_the_number_of_buckets(options: dict[str, str]) -> None:
    table = given_table({"bucket": "3", **options})
    write(table, *[("x", f"key {number}", number) for number in range(30)])
    table.compact()
    write(table, *[("x", f"key {number}", -number) for number in range(10)])
    before, rows_before = records(table), read(table)

    for count in (2**31 - 1, 1_000_000_007, 3):
        result = table.rescale(count)

        assert result.files_out <= 40
        assert (totals(table), read(table), records(table)) == ({count}, rows_before, before)


@pytest.mark.parametrize("held", [1, 3_000, 20_000])
def test_rows_that_do_not_fit_into_memory_are_read_group_by_group(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = given_table({"bucket": "1"})
    write(table, *[("x", f"key {number}", number) for number in range(300)])
    table.compact()
    write(table, *[("y", f"key {number}", number) for number in range(100)])
    before = records(table)
    monkeypatch.setattr("braid.lake.maintenance.rescale.rescale_writer._HELD_BYTES", held)

    result = table.rescale(50)

    assert 50 < result.files_out <= 2 * 50
    assert records(table) == before
    keys = pa.table({"p": ["x"] * 300, "k": [f"key {number}" for number in range(300)]})
    assert table.lookup(keys).column("v").to_pylist() == list(range(300))


def test_rows_of_another_bucket_are_an_error_and_not_lost() -> None:
    table = given_table({"bucket": "4"})
    writer = table.writer()
    writer.write(rows(("x", "a", 1)))
    (message,) = writer.prepare_commit().messages
    wrong = (message.bucket + 1) % 4
    (file,) = message.new_files
    old, new = (
        live_file_path(table.paths, table.schema, message.partition, bucket, file)
        for bucket in (message.bucket, wrong)
    )
    table.file_io.write_new(new, table.file_io.read_bytes(old))
    table.committer().commit([replace(message, bucket=wrong)], commit_user="other")

    for count in (1, 2, 8, 100):
        with pytest.raises(CorruptData, match=f"in bucket {wrong} of 4, but belong to other"):
            table.rescale(count)

    assert totals(table) == {4}
    assert [row[:3] for row in read(table)] == [("x", "a", 1)]


def test_a_nan_is_one_key_in_one_bucket_whatever_its_bits() -> None:
    bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF]
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock(), random=random.Random(3))
    table = catalog.create_table(
        "db.nan",
        columns=[("k", "DOUBLE"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "64"},
    )
    nans = pa.array(np.array(bits, dtype=np.uint64).view(np.float64))
    for number in range(len(bits)):
        values = pa.array([number], pa.int32())
        table.write_and_commit(pa.table({"k": nans.slice(number, 1), "v": values}))

    assert table.lookup(pa.table({"k": nans})).column("v").to_pylist() == [3] * 4
    for count in (1, 7):
        table.rescale(count)
        assert table.scan().to_arrow().column("v").to_pylist() == [3]
        assert table.lookup(pa.table({"k": nans})).column("v").to_pylist() == [3] * 4
