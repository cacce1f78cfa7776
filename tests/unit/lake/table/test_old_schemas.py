"""A process that works under an old schema never drops the columns of a newer one.

One process opens the table and begins; another alters it and writes; then the first continues.
"""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    CommitConflict,
    Machine,
    ManualClock,
    MemoryFileIO,
    RenameColumn,
    SchemaChange,
    Table,
    UpdateColumnType,
    parse_type,
)
from braid.lake.lsm.levels import Levels
from braid.lake.maintenance.compaction.compaction_picks import full_pick
from braid.lake.maintenance.compaction.planned_bucket import PlannedBucket
from braid.lake.snapshots.live_table import LiveTable
from braid.lake.table.operations.compaction import table_compaction
from tests.support.faulty_file_io import FaultyFileIO

ADD = AddColumn(path=("d",), type=parse_type("STRING"))
RENAME = RenameColumn(path=("a",), name="z")
WIDEN = UpdateColumnType(path=("a",), type=parse_type("BIGINT"))
SWAP = (
    RenameColumn(path=("a",), name="t"),
    RenameColumn(path=("b",), name="a"),
    RenameColumn(path=("t",), name="b"),
)
CHANGES = pytest.mark.parametrize(
    "changes", [(ADD,), (RENAME,), (WIDEN,), SWAP], ids=["add", "rename", "widen", "swap"]
)
WIDE = 1 << 40


def given_table(file_io: Any = None, **options: str) -> Table:
    catalog = Catalog("/wh", file_io=file_io or MemoryFileIO(), clock=ManualClock())
    table = catalog.create_table(
        "db.t",
        columns=[("k", "INT"), ("a", "INT"), ("b", "INT")],
        primary_key=["k"],
        options={"bucket": "1"} | {key.replace("_", "-"): value for key, value in options.items()},
    )
    write(table, k=1, a=10, b=11)
    return table


def another(table: Table) -> Table:
    """The same table, opened by another process."""
    return Table.open(table.path, file_io=table.file_io)


def write(table: Table, **row: Any) -> None:
    table.write_and_commit(pa.Table.from_pylist([row], schema=_schema(table, row)))


def _schema(table: Table, row: dict[str, Any]) -> pa.Schema:
    schema = table.schema.arrow_schema
    return pa.schema([schema.field(name) for name in row])


def new_row(table: Table) -> dict[str, Any]:
    """A row with a value in every column that there is now."""
    row: dict[str, Any] = {"k": 2}
    for number, field in enumerate(table.schema.fields[1:]):
        kind = str(field.type)
        row[field.name] = (
            "text" if kind == "STRING" else number + (WIDE if kind == "BIGINT" else 20)
        )
    return row


def rows(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = another(table).scan().to_arrow().sort_by("k").to_pylist()
    return found


@CHANGES
def test_a_writer_under_an_old_schema_is_refused(changes: tuple[SchemaChange, ...]) -> None:
    table = given_table()
    writer = table.writer()
    writer.write(pa.table({"k": pa.array([3], pa.int32()), "a": pa.array([30], pa.int32())}))
    result = writer.prepare_commit()
    other = another(table)
    other.alter(*changes)
    write(other, **new_row(other))
    before = rows(table)

    with pytest.raises(CommitConflict, match="under schema 0, but the newest schema is 1"):
        table.committer().commit(result.messages, commit_user="w")

    assert rows(table) == before


@CHANGES
def test_a_reader_takes_up_the_new_schema(changes: tuple[SchemaChange, ...]) -> None:
    table = given_table()
    assert table.scan().to_arrow().num_rows == 1
    other = another(table)
    other.alter(*changes)
    write(other, **new_row(other))

    assert table.scan().to_arrow().sort_by("k").to_pylist() == rows(table)
    assert rows(table)[1] == dict.fromkeys(other.schema.field_names) | new_row(other)
    assert table.get({"k": 2}) == rows(table)[1]


@CHANGES
@pytest.mark.parametrize("vectors", ["false", "true"], ids=["plain", "vectors"])
def test_a_compactor_keeps_columns_that_it_does_not_know(
    changes: tuple[SchemaChange, ...], vectors: str
) -> None:
    table = given_table(deletion_vectors_enabled=vectors)
    other = another(table)
    other.alter(*changes)
    write(other, **new_row(other))
    if vectors == "true":
        other.compact()
    before = rows(table)

    table.compact()

    assert rows(table) == before


@CHANGES
def test_a_change_between_plan_and_commit_of_a_compaction_loses_nothing(
    changes: tuple[SchemaChange, ...],
) -> None:
    inner = MemoryFileIO()
    table = given_table(inner)
    write(table, k=3, a=30, b=31)
    storage = FaultyFileIO(inner)
    expected = []

    def meanwhile(_number: int, method: str, path: str) -> None:
        if method == "create_exclusive" and "/snapshot/" in path:
            storage.before = lambda *_: None
            other = Table.open(table.path, file_io=inner)
            other.alter(*changes)
            write(other, **new_row(other))
            expected.extend(rows(other))

    storage.before = meanwhile
    Table.open(table.path, file_io=storage).compact()

    assert len(expected) == 3
    assert rows(table) == expected


def test_a_compaction_that_plans_again_leaves_files_of_a_newer_schema() -> None:
    """It plans again where deletion vectors were replaced, and removed, while it planned."""
    table = given_table()
    opened = table._opened
    schema, (_, before) = table.schema, opened.newest_live()
    other = another(table)
    other.alter(ADD)
    write(other, **new_row(other))
    _, newest = another(table)._opened.newest_live()

    def no_row_expires(_levels: Levels) -> dict[str, float]:
        return {}

    def planned(live: LiveTable) -> list[PlannedBucket]:
        pick = full_pick(schema, no_row_expires, now_ms=opened.store.clock.now_ms())
        compaction = table_compaction(
            opened,
            schema,
            live,
            pick=pick,
            expired=no_row_expires,
            commit_user=None,
            machine=Machine.COLUMN,
        )
        return list(compaction.plan(live))

    assert planned(newest) == []
    assert planned(before) != []
