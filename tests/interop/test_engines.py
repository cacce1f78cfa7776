"""Every engine that reads our tables sees the rows that we see, or says that it does not read them.

Tables have partitions, deletes, files of three schemas and of several levels:

| table     | is                                        | pypaimon's own reader |
|-----------|-------------------------------------------|-----------------------|
| `grouped` | partial-update with two sequence groups   | refuses it            |
| `plain`   | deduplicate                               | reads it              |
| `marked`  | the same with deletion vectors, compacted | reads it              |
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    Condition,
    ManualClock,
    Position,
    PositionKind,
    ReadAt,
    RenameColumn,
    RowKind,
    SetOption,
    Table,
    UpdateColumnType,
    parse_type,
)
from tests.conformance.compare import difference
from tests.interop import pypaimon_reader
from tests.interop.java_driver import JavaDriver, JavaRefused
from tests.interop.ours import json_rows

pytestmark = pytest.mark.interop

COLUMNS = [
    ("day", "STRING"),
    ("id", "BIGINT"),
    ("paid_at", "INT"),
    ("paid", "INT"),
    ("note", "STRING"),
    ("sent_at", "INT"),
    ("carrier", "STRING"),
]
GROUPED = {
    "merge-engine": "partial-update",
    "fields.paid_at.sequence-group": "paid,note",
    "fields.sent_at.sequence-group": "carrier",
    "partial-update.remove-record-on-sequence-group": "paid_at",
}
TABLES: Mapping[str, Mapping[str, str]] = {
    "grouped": GROUPED,
    "plain": {},
    "marked": {
        "deletion-vectors.enabled": "true",
        "compaction.max-size-amplification-percent": "100000",
    },
}
START = ManualClock().now_ms()


@dataclass(frozen=True, slots=True)
class Warehouse:
    """Where the tables are.

    Attributes:
        path: The folder.
        tables: By name.
    """

    path: Path
    tables: Mapping[str, Table]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    path = tmp_path_factory.mktemp("engines")
    return Warehouse(path, {name: given_table(path, name) for name in TABLES})


@pytest.fixture(scope="module")
def by_pypaimon(warehouse: Warehouse) -> Mapping[str, pa.Table | str]:
    """What pypaimon says of each table: `name` by its own reader, `name native` by its Rust core."""
    questions = [
        (f"t.{name}", dict(options)) for name in TABLES for options in ({}, pypaimon_reader.NATIVE)
    ]
    answers = pypaimon_reader.read_tables(warehouse.path, questions)
    names = [f"{name}{kind}" for name in TABLES for kind in ("", " native")]
    return dict(zip(names, answers, strict=True))


def given_table(path: Path, name: str) -> Table:
    """Return a table of five commits, a second apart, three schemas and a compaction."""
    clock = ManualClock()
    table = Catalog(str(path), clock=clock).create_table(
        f"t.{name}",
        columns=COLUMNS,
        primary_key=["day", "id"],
        partition_keys=["day"],
        options={"bucket": "2", **TABLES[name]},
    )
    days = ["2026-01-30", "2026-01-31"]
    for first in (0, 20):
        numbers = [*range(first, first + 40), *range(1_000, 2_000)]
        commit(table, [row(days[n % 2], n, 1, 10 * n, note(n), 1, "DHL") for n in numbers])
        clock.advance(ms=1_000)
    table.compact()
    clock.advance(ms=1_000)
    is_grouped = name == "grouped"
    table.alter(
        RenameColumn(path=("note",), name="remark"),
        UpdateColumnType(path=("paid",), type=parse_type("BIGINT")),
    )
    removed = [row(days[n % 2], n, 2, None, None, None, None, kind="-D") for n in range(0, 60, 7)]
    late = [row(days[n % 2], n, 0, -1, "late", 2, "UPS") for n in range(1, 60, 7)]
    commit(table, [*removed, *late])
    clock.advance(ms=1_000)
    table.alter(
        AddColumn(
            path=("city",),
            type=parse_type("STRING"),
            position=Position(kind=PositionKind.AFTER, neighbour="paid"),
        ),
        *(
            [SetOption(key="fields.paid_at.sequence-group", value="paid,remark,city")]
            if is_grouped
            else []
        ),
    )
    new = [
        row(days[n % 2], n, 3, 1 << 40, "new", 3, None) | {"city": "Ulm"} for n in range(30, 90, 5)
    ]
    commit(table, new)
    if name == "marked":
        table.compact(full=False)
    return table


def note(number: int) -> str:
    """Return a text that does not compress, so that a compaction of few rows leaves its file alone."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def row(day: str, number: int, *values: Any, kind: str = "+I") -> dict[str, Any]:
    names = ["paid_at", "paid", "note", "sent_at", "carrier"]
    return {"kind": kind, "day": day, "id": number, **dict(zip(names, values, strict=True))}


def commit(table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Commit rows that name the column `remark` as it was called first."""
    kinds = {kind.symbol: kind.value for kind in RowKind}
    schema = table.schema.arrow_schema
    values = [{**row, "remark": row["note"]} for row in rows]
    given = [field for field in schema if field.name in values[0]]
    table.write_and_commit(
        pa.Table.from_pylist(
            [{field.name: row[field.name] for field in given} for row in values],
            schema=pa.schema(given),
        ),
        kinds=pa.array([kinds[row["kind"]] for row in rows], pa.int8()),
    )


def assert_same(
    table: Table, theirs: pa.Table | list[list[Any]], *, at: int | ReadAt | None = None
) -> None:
    scan = table.scan(at=at)
    if isinstance(theirs, pa.Table):
        theirs = json_rows(theirs.select(scan.columns))
    assert difference(theirs, scan.to_arrow(), schema=scan.arrow_schema, hints={}) is None


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_have_what_they_are_to_show(warehouse: Warehouse, name: str) -> None:
    table = warehouse.tables[name]
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    files = [entry.file for entry in table.live_files(snapshot)]

    assert len({file.schema_id for file in files}) >= 2
    assert set(table.inspect.partitions()["partition"].to_pylist()) == {
        "day=2026-01-30",
        "day=2026-01-31",
    }
    assert name == "marked" or {file.level for file in files} > {0}
    assert name != "marked" or snapshot.index_manifest is not None
    ids = {row["id"] for row in table.scan(columns=["id"]).to_arrow().to_pylist()}
    assert 49 not in ids
    assert {35, 48, 85} <= ids


@pytest.mark.parametrize("name", TABLES)
def test_java_reads_the_same_rows(warehouse: Warehouse, java: JavaDriver, name: str) -> None:
    table = warehouse.tables[name]

    assert_same(table, java.rows(table.path))


@pytest.mark.parametrize("name", ["plain", "marked"])
def test_java_reads_every_snapshot_with_its_schema(
    warehouse: Warehouse, java: JavaDriver, name: str
) -> None:
    table = warehouse.tables[name]
    snapshot = table.latest_snapshot()
    assert snapshot is not None

    for number in range(1, snapshot.id + 1):
        assert_same(table, java.rows(table.path, snapshot=number), at=number)


def test_java_reads_old_columns_with_new_options(warehouse: Warehouse, java: JavaDriver) -> None:
    """So a group whose column was renamed stops it; we read with the options of then."""
    table = warehouse.tables["grouped"]

    with pytest.raises(JavaRefused, match="Field remark can not be found"):
        java.rows(table.path, snapshot=1)
    scan = table.scan(at=1, where=[Condition(column="id", op="=", value=5)])
    [row] = scan.to_arrow().to_pylist()
    assert (row["paid"], row["note"]) == (50, note(5))


@pytest.mark.parametrize("moment", [0, 1, 1_000, 2_500, 4_000, 99_000])
def test_java_travels_to_the_same_moment(
    warehouse: Warehouse, java: JavaDriver, moment: int
) -> None:
    table = warehouse.tables["plain"]
    then = START + moment

    theirs = java.rows(table.path, options={"scan.timestamp-millis": str(then)})

    assert_same(table, theirs, at=ReadAt(timestamp=then))


@pytest.mark.parametrize(
    ("bounds", "mode"), [((0, 4), "auto"), ((1, 5), "delta"), ((4, 5), "auto"), ((2, 3), "delta")]
)
def test_java_reads_the_same_changes_between_snapshots(
    warehouse: Warehouse, java: JavaDriver, bounds: tuple[int, int], mode: str
) -> None:
    table = warehouse.tables["plain"]
    first, last = bounds
    options = {"incremental-between": f"{first},{last}", "incremental-between-scan-mode": mode}

    theirs = java.rows(table.path, options=options)

    ours = table.changes(first, last, mode=mode).to_arrow().drop_columns(["_VALUE_KIND"])
    assert difference(theirs, ours, schema=ours.schema, hints={}) is None
    assert (len(theirs) > 0) == (bounds != (2, 3))


@pytest.mark.parametrize("name", ["plain", "marked"])
def test_pypaimon_reads_the_same_rows(
    warehouse: Warehouse, by_pypaimon: Mapping[str, pa.Table | str], name: str
) -> None:
    theirs = by_pypaimon[name]

    assert isinstance(theirs, pa.Table), theirs
    assert_same(warehouse.tables[name], theirs)


def test_pypaimons_own_reader_refuses_sequence_groups(
    by_pypaimon: Mapping[str, pa.Table | str],
) -> None:
    refused = by_pypaimon["grouped"]

    assert isinstance(refused, str)
    assert refused.startswith("NotImplementedError")
    assert "sequence-group" in refused


@pytest.mark.parametrize("name", TABLES)
def test_pypaimons_rust_core_reads_the_same_rows(
    warehouse: Warehouse, by_pypaimon: Mapping[str, pa.Table | str], name: str
) -> None:
    theirs = by_pypaimon[f"{name} native"]

    assert isinstance(theirs, pa.Table), theirs
    assert_same(warehouse.tables[name], theirs)


@pytest.mark.parametrize("at", [None, 1, ReadAt(timestamp=START + 1_000)], ids=str)
@pytest.mark.parametrize("name", TABLES)
def test_duckdb_and_polars_read_the_same_rows(
    warehouse: Warehouse, name: str, at: int | ReadAt | None
) -> None:
    table = warehouse.tables[name]
    scan = table.scan(batch_rows=70, at=at)

    with duckdb.connect() as connection:
        by_duckdb = connection.register("t", scan).table("t").to_arrow_table()
    by_polars = pl.DataFrame(scan).to_arrow()

    assert_same(table, by_duckdb, at=at)
    assert_same(table, by_polars, at=at)


def test_duckdb_joins_streams_of_chosen_rows(warehouse: Warehouse) -> None:
    table = warehouse.tables["grouped"]
    ulm = [Condition(column="city", op="=", value="Ulm")]
    with duckdb.connect() as connection:
        columns = ["id", "paid"]
        connection.register("now", table.to_arrow_reader(columns=columns, where=ulm))
        connection.register("before", table.to_arrow_reader(columns=columns, at=1))

        [(rows, added)] = connection.sql(
            "SELECT count(*), sum(now.paid - before.paid) FROM now JOIN before USING (id)"
        ).fetchall()

    assert rows == 2  # 30 and 35, of those that were there at first
    assert added == 2 * (1 << 40) - 10 * (30 + 35)
