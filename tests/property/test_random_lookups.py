"""A lookup is the scan filtered to the key in random tables: every engine, aggregate function and delete rule, keys and columns of
every type, with deletion vectors too, at every snapshot. Several keys at once, keys one by one, as Arrow data and as Python values
give the same rows, and so do copies without a bound, in little room, on disk alone, and none."""

import itertools
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    InvalidRequest,
    LookupSettings,
    ManualClock,
    MemoryFileIO,
    Row,
    SchemaMismatch,
    SnapshotLookup,
    Table,
)
from braid.lake.declaration.validation import validate_schema
from braid.lake.read.lookup.python_rows import python_rows
from tests.conformance.column_types import arrow_type
from tests.conformance.values import to_arrow, to_json
from tests.property.declarations import Declaration, draw_declaration
from tests.property.function_columns import BY_NAME, FUNCTION_COLUMNS
from tests.property.histories import ADDS, KINDS, Shape, draw_history
from tests.property.strategies import plain

PLAIN = "no function"
CASES = (PLAIN, *(function.name for function in FUNCTION_COLUMNS))
SEEDS = range(1)
SOAK_SEEDS = 60
CACHES = {
    "no bound": LookupSettings(),
    "little room": LookupSettings(max_memory_bytes=3_000, max_disk_bytes=3_000),
    "on disk": LookupSettings(max_memory_bytes=0),
    "none": LookupSettings(max_memory_bytes=0, max_disk_bytes=0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """A table with a history.

    Attributes:
        declared: The table as it is declared.
        catalogs: Its catalog, by the bounds of copies.
        keys: Keys that may have a row, and some that have none.
    """

    declared: Declaration
    catalogs: dict[str, Catalog]
    keys: pa.Table

    def key_texts(self, rows: pa.Table) -> list[str]:
        """Return the keys of rows as texts, which tell -0.0 from 0.0."""
        return plain(rows.select(self.declared.key))


def check_table(name: str, seed: int) -> None:
    """Check lookups of a random table after each of its commits and compactions."""
    chance = random.Random(f"{name} {seed}")
    bed = given_bed(declared(name, chance), chance)
    table = bed.catalogs["no bound"].table("db.t")
    shape = Shape(
        row_count=chance.randint(4, 30),
        key_values=3,
        null_share=chance.choice([0.0, 0.3]),
        retract_share=0.0 if bed.declared.refuses_retracts else chance.choice([0.0, 0.1, 0.4]),
        kinds=ADDS if bed.declared.refuses_retracts else KINDS,
    )
    numbers = np.random.default_rng(chance.randrange(2**32))
    history = draw_history(bed.declared, shape, numbers)
    ends = sorted(chance.sample(range(1, shape.row_count), 3))
    snapshot_ids: set[int] = set()
    for start, end in itertools.pairwise([0, *ends, shape.row_count]):
        try:
            rows, kinds = (one.slice(start, end - start) for one in (history.rows, history.kinds))
            table.write_and_commit(rows, kinds=kinds)
            snapshot_ids |= newest(table)
            compacts = chance.choice(["not", "not", "due", "full"])
            if compacts != "not":
                table.compact(full=compacts == "full")
                snapshot_ids |= newest(table)
        except SchemaMismatch:
            continue  # records that the merge refuses, such as a retract or a sum that overflows
    for snapshot_id in sorted(snapshot_ids):
        of_newest = snapshot_id == max(snapshot_ids)
        caches = CACHES if of_newest else chance.sample(list(CACHES), 1)
        for cache in caches:
            check_snapshot(bed, cache, snapshot_id, chance)


def newest(table: Table) -> set[int]:
    snapshot = table.latest_snapshot()
    return set() if snapshot is None else {snapshot.id}


def declared(name: str, chance: random.Random) -> Declaration:
    """Return a random table: with one function, or of an engine without functions."""
    if name == PLAIN:
        return draw_declaration(chance, engines=["deduplicate", "first-row"])
    engines = ["partial-update", "aggregation"]
    while True:
        found = draw_declaration(chance, engines=engines, functions=[BY_NAME[name]])
        if BY_NAME[name] in found.functions.values():
            return found


def given_bed(table: Declaration, chance: random.Random) -> Bed:
    """Create a table, with deletion vectors, deletes of nulls or retained deletes if it can have them and chance wants it."""
    file_io, clock = MemoryFileIO(), ManualClock()
    if table.groups:
        ordering = chance.choice(table.groups).ordering[0]
        table = with_options(table, {"braid.null-deletes": ordering}, chance)
    times = [name for name, (kind, _) in table.columns.items() if str(kind).startswith("TIMESTAMP")]
    if times:
        retained = {
            "braid.delete-retention": "1 d",
            "braid.delete-retention.time-fields": times[0],
        }
        table = with_options(table, retained, chance)
    table = with_options(table, {"deletion-vectors.enabled": "true"}, chance)
    options = {
        "bucket": chance.choice(["1", "2"]),
        "num-sorted-run.compaction-trigger": "2",
        "compaction.max-size-amplification-percent": "100000",
    }
    catalogs = {
        name: Catalog("/w", file_io=file_io, clock=clock, lookups=settings)
        for name, settings in CACHES.items()
    }
    catalogs["no bound"].create_table(
        "db.t",
        columns=table.schema.fields,
        primary_key=table.key,
        options={**table.options, **options},
    )
    return Bed(declared=table, catalogs=catalogs, keys=some_keys(table))


def with_options(table: Declaration, options: dict[str, str], chance: random.Random) -> Declaration:
    """Return a table with further options, as chance wants it; the same table if it cannot have them."""
    found = replace(table, options={**table.options, **options})
    if chance.random() < 0.5:
        return table
    try:
        validate_schema(found.schema)
    except InvalidRequest:
        return table
    return found


def some_keys(table: Declaration) -> pa.Table:
    """Return all keys of the first four values of each column: the fourth is in no row."""
    domains = [table.columns[name] for name in table.key]
    combined = list(itertools.product(*(values[:4] for _, values in domains)))
    return pa.table(
        [
            to_arrow([key[index] for key in combined], arrow_type(kind))
            for index, (kind, _) in enumerate(domains)
        ],
        names=list(table.key),
    )


def check_snapshot(bed: Bed, cache: str, snapshot_id: int, chance: random.Random) -> None:
    """Compare lookups of a snapshot with a scan of it."""
    table = bed.catalogs[cache].table("db.t")
    at = table.lookup_at(snapshot_id)
    order = [chance.randrange(len(bed.keys)) for _ in range(12)]
    wanted = bed.keys.take(pa.array(order))
    singles = [wanted.slice(number, 1) for number in range(len(wanted))]
    try:
        scanned = table.scan(at=snapshot_id).to_arrow()
    except SchemaMismatch:
        # A key that cannot be merged fails in a lookup, too.
        with pytest.raises(SchemaMismatch):
            at.rows(bed.keys)
        return
    texts = dict(zip(bed.key_texts(scanned), plain(scanned), strict=True))
    assert len(texts) == scanned.num_rows, "each key once"
    expected = [texts.get(key) for key in bed.key_texts(wanted)]

    together = at.keyed_rows(wanted)
    assert plain(together.rows) == [row for row in expected if row is not None]
    found = set(together.keys.tolist())
    assert found == {number for number, row in enumerate(expected) if row is not None}
    one_by_one = [plain(at.rows(key)) for key in singles]
    assert one_by_one == [[] if row is None else [row] for row in expected]
    check_values(at, wanted, together.rows, expected)
    column = chance.choice(list(bed.declared.columns))
    projected = at.rows(wanted, columns=[column])
    assert to_json(projected.column(column)) == to_json(together.rows.column(column))


def check_values(
    at: SnapshotLookup, wanted: pa.Table, rows: pa.Table, expected: Sequence[str | None]
) -> None:
    """Compare rows as Python values with the same rows as Arrow data."""
    keys = values_of(wanted)
    values = iter(values_of(rows))
    in_python = [None if row is None else next(values) for row in expected]
    assert repr(at.get_many(keys)) == repr(in_python)
    assert repr([at.get(key) for key in keys]) == repr(in_python)


def values_of(rows: pa.Table) -> list[Row]:
    return [row for batch in rows.to_batches() for row in python_rows(batch)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_a_lookup_is_the_scan_filtered_to_the_key(name: str, seed: int) -> None:
    check_table(name, seed)


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
def test_lookups_of_many_tables(name: str) -> None:
    first = int(os.environ.get("LOOKUP_SEED", "1000"))
    for seed in range(first, first + SOAK_SEEDS):
        check_table(name, seed)
