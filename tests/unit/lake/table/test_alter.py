"""Altered tables: existing rows are read correctly under the new schema."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    CommitConflict,
    Condition,
    DropColumn,
    InvalidRequest,
    Machine,
    ManualClock,
    MemoryFileIO,
    Position,
    PositionKind,
    RenameColumn,
    SchemaChange,
    SchemaMismatch,
    SetOption,
    Table,
    UnsupportedFeature,
    UpdateColumnType,
    parse_type,
)
from tests.support.faulty_file_io import FaultyFileIO

COLUMNS = [("k", "INT"), ("a", "INT"), ("b", "STRING"), ("c", "INT")]
ALTER: tuple[SchemaChange, ...] = (
    RenameColumn(path=("a",), name="b2"),
    UpdateColumnType(path=("c",), type=parse_type("BIGINT")),
    DropColumn(path=("b",)),
    AddColumn(
        path=("a",),
        type=parse_type("STRING"),
        position=Position(kind=PositionKind.AFTER, neighbour="k"),
    ),
)
OLD = [(1, 10, "x", 100), (2, 20, "y", None), (3, None, None, 300)]
NOW = [(1, None, 10, 100), (2, None, 20, None), (3, None, None, 300)]
"""The same after `ALTER`: k, a (new), b2 (was a), c."""


def given_table(
    file_io: MemoryFileIO | None = None, options: Mapping[str, str] | None = None
) -> Table:
    catalog = Catalog("/wh", file_io=file_io or MemoryFileIO(), clock=ManualClock())
    return catalog.create_table(
        "db.t",
        columns=COLUMNS,
        primary_key=["k"],
        options={"bucket": "1", **(options or {})},
    )


def write(table: Table, rows: list[tuple[Any, ...]]) -> None:
    schema = table.schema.arrow_schema
    columns = [
        pa.array([row[position] for row in rows], field.type)
        for position, field in enumerate(schema)
    ]
    table.write_and_commit(pa.Table.from_arrays(columns, schema=schema))


def rows(table: Table, **query: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan(**query).to_arrow().to_pylist())


def altered(*changes: SchemaChange, options: Mapping[str, str] | None = None) -> Table:
    table = given_table(options=options)
    write(table, OLD)
    table.alter(*(changes or ALTER))
    return table


def test_old_rows_read_under_the_new_schema() -> None:
    table = altered()

    assert table.schema.field_names == ("k", "a", "b2", "c")
    assert rows(table) == NOW
    assert [row["c"] for row in table.scan(columns=["c"]).to_arrow().to_pylist()] == [
        100,
        None,
        300,
    ]


@pytest.mark.parametrize("machine", Machine)
def test_old_and_new_records_of_a_key_are_merged(machine: Machine) -> None:
    table = altered(options={"merge-engine": "partial-update"})
    write(table, [(2, "new", None, 2**40), (4, None, 4, 4)])

    merged = [(1, None, 10, 100), (2, "new", 20, 2**40), (3, None, None, 300), (4, None, 4, 4)]
    assert rows(table, machine=machine) == merged
    table.compact(machine=machine)
    assert rows(table) == merged
    (entry,) = table.live_files(table.snapshot(3))
    assert entry.file.schema_id == 1


def test_time_travel_reads_under_the_schema_of_the_snapshot() -> None:
    table = altered()
    write(table, [(9, "z", 9, 9)])

    assert rows(table, at=1) == OLD
    assert len(rows(table, at=2)) == 4


def test_conditions_apply_to_the_current_type_of_a_column() -> None:
    table = altered()
    write(table, [(7, "10", 10, 100)])

    def keys(column: str, value: object) -> list[object]:
        scan = table.scan(columns=["k"], where=[Condition(column=column, op="=", value=value)])
        return sorted(scan.to_arrow()["k"].to_pylist())

    assert keys("b2", 10) == [1, 7]
    assert keys("c", 100) == [1, 7]
    assert keys("a", "x") == []
    assert keys("a", "10") == [7]


def test_statistics_of_renamed_columns_prune_and_those_of_cast_ones_do_not() -> None:
    table = altered(options={"deletion-vectors.enabled": "true"})
    table.compact()

    def files(column: str, value: object) -> int:
        return table.scan(where=[Condition(column=column, op="=", value=value)]).plan().files_read

    assert files("b2", 10) == 1
    assert files("b2", 21) == 0
    assert files("c", 301) == 1


def test_texts_are_not_pruned_by_the_numbers_they_were() -> None:
    """9 < 10, but "10" < "9"."""
    table = given_table(options={"deletion-vectors.enabled": "true"})
    write(table, [(1, 9, "x", 9), (2, 10, "x", 10)])
    table.compact()
    table.alter(UpdateColumnType(path=("a",), type=parse_type("STRING")))

    scan = table.scan(where=[Condition(column="a", op="<", value="9")])

    assert [row["k"] for row in scan.to_arrow().to_pylist()] == [2]


def test_lookups_find_old_rows() -> None:
    table = given_table()
    write(table, OLD)
    assert table.lookup(pa.table({"k": pa.array([2], pa.int32())})).to_pylist()
    table.alter(*ALTER)

    found = table.lookup(pa.table({"k": pa.array([3, 5, 2], pa.int32())}))

    assert [tuple(row.values()) for row in found.to_pylist()] == [NOW[2], NOW[1]]
    assert table.get({"k": 1}) == {"k": 1, "a": None, "b2": 10, "c": 100}


def test_changes_are_read_under_the_new_schema() -> None:
    table = altered(options={"changelog-producer": "input"})

    changes = table.changes(0).to_arrow()

    assert changes.schema.names == ["_VALUE_KIND", "k", "a", "b2", "c"]
    assert changes["b2"].to_pylist() == [10, 20, None]


@pytest.mark.parametrize(
    "options",
    [
        {"deletion-vectors.enabled": "true"},
        {"deletion-vectors.enabled": "true", "merge-engine": "partial-update"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "full-compaction"},
        {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value"},
        {"merge-engine": "first-row"},
    ],
    ids=lambda options: ",".join(options.values()),
)
def test_a_compaction_merges_files_of_several_schemas(options: dict[str, str]) -> None:
    table = given_table(options=options)
    write(table, OLD)
    table.compact()
    table.alter(*ALTER)
    write(table, [(2, "new", 5, 2**40), (4, "n", 4, 4)])
    table.compact(full=False)
    write(table, [(5, "n", 4, 4)])
    table.compact()

    is_first = options.get("merge-engine") == "first-row"
    second = NOW[1] if is_first else (2, "new", 5, 2**40)
    assert rows(table) == [NOW[0], second, NOW[2], (4, "n", 4, 4), (5, "n", 4, 4)]


def test_a_rescale_keeps_rows_of_older_schemas() -> None:
    table = altered()

    table.rescale(3)

    assert rows(table) == NOW
    assert rows(table, at=1) == OLD


def test_a_value_that_the_new_type_cannot_hold_is_reported_with_its_file() -> None:
    table = altered(UpdateColumnType(path=("b",), type=parse_type("DATE")))

    with pytest.raises(SchemaMismatch, match=r"column `b` that was written as STRING.*`x`"):
        rows(table)

    table.alter(UpdateColumnType(path=("b",), type=parse_type("STRING")))
    assert rows(table) == OLD


def test_a_change_that_is_refused_changes_nothing() -> None:
    table = altered(RenameColumn(path=("a",), name="z"))
    before = table.schema

    with pytest.raises(InvalidRequest, match=r"table db\.t"):
        table.alter(SetOption(key="num-levels", value="3"), DropColumn(path=("k",)))

    table.refresh()
    assert table.schema == before


RESERVED = AddColumn(path=("_KEY_x",), type=parse_type("INT"))


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ([RESERVED], ["changes[0].columns"]),
        (
            [AddColumn(path=("x",), type=parse_type("INT")), RESERVED],
            ["changes[1].columns"],
        ),
        (
            [
                SetOption(key="write-only", value="maybe"),
                SetOption(key="sink.parallelism", value="2"),
            ],
            ["changes[0].write-only"],
        ),
        (
            [SetOption(key="write-only", value="maybe"), SetOption(key="write-only", value="no")],
            ["changes[1].write-only"],
        ),
        (
            [SetOption(key="row-tracking.enabled", value="true")],
            ["changes[0].row-tracking.enabled"],
        ),
        ([SetOption(key="file.format", value="csv")], ["changes[0].file.format"]),
        ([RESERVED, DropColumn(path=("nope",))], ["changes[1].name"]),
    ],
)
def test_a_problem_of_the_result_names_the_change_that_causes_it(
    changes: list[SchemaChange], fields: list[str]
) -> None:
    with pytest.raises(InvalidRequest, match="the schema cannot be changed as requested") as caught:
        given_table().alter(*changes)

    assert [problem.field for problem in caught.value.problems] == fields


def test_rows_written_under_the_old_schema_are_refused_at_their_commit() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(pa.table({"k": pa.array([1], pa.int32()), "b": ["x"]}))
    result = writer.prepare_commit()
    Table.open(table.path, file_io=table.file_io).alter(DropColumn(path=("b",)))

    with pytest.raises(CommitConflict, match="schema"):
        table.committer().commit(result.messages, commit_user="w")


def test_write_and_commit_takes_up_the_new_schema() -> None:
    table = given_table()
    other = Table.open(table.path, file_io=table.file_io)
    other.alter(AddColumn(path=("d",), type=parse_type("INT")))

    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32()), "b": ["x"]}))

    assert rows(other) == [(1, None, "x", None, None)]


def altered_elsewhere() -> Table:
    """Return a table of which another process has replaced the column `a`, and added `d`."""
    table = given_table()
    write(table, OLD)
    Table.open(table.path, file_io=table.file_io).alter(
        AddColumn(path=("d",), type=parse_type("INT")), RenameColumn(path=("k",), name="key")
    )
    return table


def test_rows_with_columns_that_another_process_added_are_written() -> None:
    table = altered_elsewhere()

    table.write_and_commit(
        pa.table({"key": pa.array([9], pa.int32()), "d": pa.array([1], pa.int32())})
    )

    assert rows(table, columns=["key", "d"], where=[Condition(column="d", op="=", value=1)]) == [
        (9, 1)
    ]


def test_rows_that_fit_no_schema_are_refused_under_the_newest() -> None:
    table = altered_elsewhere()

    with pytest.raises(SchemaMismatch, match=r"schema 1 of the table\nz: the table has no"):
        table.write_and_commit(pa.table({"key": pa.array([9], pa.int32()), "z": [1]}))


@pytest.mark.parametrize(
    "read",
    [
        lambda table: table.scan(columns=["key", "d"]).to_arrow(),
        lambda table: table.to_arrow_reader(columns=["key", "d"]).read_all(),
        lambda table: table.scan(where=[Condition(column="d", op="is_null")]).to_arrow(),
        lambda table: pa.Table.from_pylist([table.get({"key": 1}, columns=["d"])]),
        lambda table: table.lookup(pa.table({"key": pa.array([1], pa.int32())}), columns=["d"]),
        lambda table: table.changes(0, columns=["key", "d"]).to_arrow(),
    ],
    ids=["scan", "reader", "where", "get", "lookup", "changes"],
)
def test_columns_that_another_process_added_are_read(read: Callable[[Table], pa.Table]) -> None:
    found = read(altered_elsewhere())

    assert set(found["d"].to_pylist()) == {None}


def test_older_states_have_no_newer_columns() -> None:
    table = altered_elsewhere()

    with pytest.raises(InvalidRequest, match="no column `d` in schema 0"):
        table.scan(columns=["d"], at=1)
    with pytest.raises(InvalidRequest, match="no column `z` in schema 1"):
        table.scan(columns=["z"])


def test_known_columns_are_read_without_reading_the_newest_schema() -> None:
    file_io = MemoryFileIO()
    write(given_table(file_io), OLD)
    storage = FaultyFileIO(file_io)
    table = Table.open("/wh/db.db/t", file_io=storage)
    table.scan(columns=["k"]).to_arrow()
    paths: list[str] = []
    storage.before = lambda _number, _method, path: paths.append(path)

    table.scan(columns=["k", "c"], where=[Condition(column="a", op="=", value=10)]).to_arrow()
    table.get({"k": 1}, columns=["c"])

    assert not [path for path in paths if "/schema" in path]


def test_two_concurrent_alterations_are_both_made() -> None:
    inner = MemoryFileIO()
    storage = FaultyFileIO(inner)
    given_table(inner)
    table = Table.open("/wh/db.db/t", file_io=storage)

    def meanwhile(_number: int, method: str, _path: str) -> None:
        if method == "create_exclusive":
            storage.before = lambda *_: None
            other = Table.open("/wh/db.db/t", file_io=inner)
            other.alter(AddColumn(path=("d",), type=parse_type("INT")))

    storage.before = meanwhile
    table.alter(AddColumn(path=("e",), type=parse_type("INT")))

    assert table.schema.field_names == ("k", "a", "b", "c", "d", "e")
    assert (table.schema.id, table.schema.highest_field_id) == (2, 5)


def test_a_branch_is_not_altered() -> None:
    table = given_table()
    write(table, OLD)
    io = table.file_io
    io.create_exclusive(
        f"{table.path}/branch/branch-b/schema/schema-0",
        io.read_bytes(f"{table.path}/schema/schema-0"),
    )

    with pytest.raises(UnsupportedFeature, match="branch"):
        table.branch("b").alter(DropColumn(path=("a",)))


def test_a_planned_schema_is_published_once_by_any_process() -> None:
    table = given_table()
    before = table.schema

    planned = table.plan_alter(AddColumn(path=("d",), type=parse_type("INT")))

    assert (table.schema, table.find_schema(planned.id)) == (before, None)
    assert table.publish_schema(planned)
    assert table.publish_schema(planned), "the same, again"
    assert table.schema == table.find_schema(1) == planned
    table.alter(AddColumn(path=("e",), type=parse_type("INT")))
    assert table.publish_schema(planned), "it was made, and another one since"
    assert [schema.id for schema in table.schemas()] == [0, 1, 2]
    assert table.schemas()[:2] == [before, planned]


def test_a_planned_schema_is_not_published_after_another_one() -> None:
    table = given_table()
    planned = table.plan_alter(AddColumn(path=("d",), type=parse_type("INT")))
    made = table.alter(AddColumn(path=("e",), type=parse_type("INT")))

    assert not table.publish_schema(planned)
    assert table.schema == made


def test_a_plan_without_effect_is_the_newest_schema() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io)
    other = Catalog("/wh", file_io=file_io, clock=ManualClock()).table("db.t")
    newest = other.alter(AddColumn(path=("d",), type=parse_type("INT")))

    assert table.plan_alter(SetOption(key="bucket", value="1")) == newest
    assert table.schema == newest
