"""Merged values that no written row could have: null in NOT NULL columns, and long decimals."""

from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake import Catalog, Machine, MemoryFileIO, SchemaMismatch, Table
from braid.lake.format.system_columns import RowKind

ADD, RETRACT = RowKind.INSERT, RowKind.UPDATE_BEFORE
BOTH = pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())


def given_table(declared: str, function: str) -> Table:
    """Return an aggregation table (k, v)."""
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": function}
    return Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
        "t.t",
        columns=[("k", "INT"), ("v", declared)],
        primary_key=["k"],
        options={"bucket": "1", **options},
    )


def write(table: Table, rows: list[tuple[RowKind, object]], machine: Machine) -> None:
    """Commit values of key 1."""
    columns = table.schema.arrow_schema
    values = pa.array([value for _, value in rows], columns.field("v").type)
    keys = pa.array([1] * len(rows), pa.int32())
    kinds = pa.array([int(kind) for kind, _ in rows], pa.int8())
    table.write_and_commit(pa.table({"k": keys, "v": values}), kinds=kinds, machine=machine)


def read(table: Table, machine: Machine) -> list[object]:
    """Return the values of all keys."""
    values: list[object] = table.scan(machine=machine).to_arrow().column("v").to_pylist()
    return values


@BOTH
def test_a_merge_that_leaves_null_in_a_not_null_column_reads_as_null(machine: Machine) -> None:
    table = given_table("INT NOT NULL", "last_value")
    write(table, [(ADD, 1)], machine)
    write(table, [(RETRACT, 1)], machine)

    assert read(table, machine) == [None]


@BOTH
def test_a_merge_that_leaves_null_in_a_not_null_column_is_not_written(machine: Machine) -> None:
    table = given_table("INT NOT NULL", "last_value")

    with pytest.raises(SchemaMismatch, match="v: the column is NOT NULL, and merging left null"):
        write(table, [(ADD, 1), (RETRACT, 1)], machine)


@BOTH
@pytest.mark.parametrize(
    ("declared", "value", "total"),
    [
        ("DECIMAL(4, 2)", "99.99", "399.96"),
        ("DECIMAL(12, 2)", "9999999999.99", "39999999999.96"),
        ("DECIMAL(18, 0)", "9" * 18, "3999999999999999996"),
    ],
)
def test_sums_keep_more_digits_than_declared(
    declared: str, value: str, total: str, machine: Machine
) -> None:
    """As Paimon 1.4.2 answers, which does not look at the digits either."""
    table = given_table(declared, "sum")
    for _ in range(2):
        write(table, [(ADD, Decimal(value))] * 2, machine)

    assert read(table, machine) == [Decimal(total)]
    row = table.get({"k": 1})
    assert row is not None
    assert row["v"] == Decimal(total)


@BOTH
def test_a_sum_that_its_file_cannot_hold_is_not_written(machine: Machine) -> None:
    """Paimon 1.4.2 keeps 32 bits of it, and reads -2949673.00."""
    table = given_table("DECIMAL(9, 2)", "sum")

    with pytest.raises(SchemaMismatch, match=r"v: DECIMAL\(9, 2\) is too narrow"):
        write(table, [(ADD, Decimal("9999999.99"))] * 4, machine)


@BOTH
def test_a_sum_that_no_file_can_hold_is_compacted_once_it_is_back_in_range(
    machine: Machine,
) -> None:
    """What the guide to compaction promises."""
    table = given_table("DECIMAL(9, 0)", "sum")
    for _ in range(3):
        write(table, [(ADD, Decimal(999_999_999))], machine)

    with pytest.raises(SchemaMismatch, match=r"back into range.*DECIMAL\(18, 0\)"):
        table.compact(machine=machine)
    assert read(table, machine) == [Decimal(2_999_999_997)]
    write(table, [(RETRACT, Decimal(999_999_999))], machine)
    table.compact(machine=machine)
    assert read(table, machine) == [Decimal(1_999_999_998)]


@BOTH
def test_a_null_that_no_file_can_hold_is_compacted_once_there_is_a_value(machine: Machine) -> None:
    table = given_table("INT NOT NULL", "last_value")
    write(table, [(ADD, 1)], machine)
    write(table, [(RETRACT, 1)], machine)

    with pytest.raises(SchemaMismatch, match="v: the column is NOT NULL, and merging left null"):
        table.compact(machine=machine)
    write(table, [(ADD, 2)], machine)
    table.compact(machine=machine)
    assert read(table, machine) == [2]
