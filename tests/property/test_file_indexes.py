"""Scans and lookups return the same rows with and without file indexes."""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake import (
    Catalog,
    Condition,
    MemoryFileIO,
    RemoveOption,
    RenameColumn,
    SetOption,
    Table,
    UpdateColumnType,
    parse_type,
)

BLOOM: Final = "file-index.bloom-filter.columns"
KINDS: Final = {"k": "INT", "j": "STRING", "v": "INT", "s": "STRING", "f": "DOUBLE"}
KEYS: Final = [(k, j) for k in range(4) for j in ("", "x")]
FLOATS: Final = st.sampled_from([0.0, -0.0, 1.5, float("nan")])
ENGINES: Final = {
    "deduplicate": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
}
ENGINE: Final = pytest.mark.parametrize("engine", ENGINES)
ROWS: Final = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.none() | st.integers(0, 99),
        st.none() | st.integers(0, 99).map(str),
        st.none() | FLOATS,
    ),
    min_size=1,
    max_size=5,
)


def given_table(engine: str, data: st.DataObject) -> Table:
    """Return a table of some commits, compactions and changes of columns between them."""
    columns = ["v", "s", *data.draw(st.lists(st.sampled_from("kjf"), unique=True))]
    catalog = Catalog("/wh", file_io=MemoryFileIO())
    table = catalog.create_table(
        "db.t",
        columns=list(KINDS.items()),
        primary_key=["k", "j"],
        options={
            "bucket": "1",
            BLOOM: ",".join(columns),
            "file-index.in-manifest-threshold": data.draw(st.sampled_from(["0 b", "1 mb"])),
            **ENGINES[engine],
        },
    )
    # What names a column of the table in an option keeps it as it is.
    steps = "wwcC" if engine == "aggregation" else "wwcCaA"
    for step in ["w", *data.draw(st.lists(st.sampled_from(steps), min_size=1, max_size=6))]:
        match step:
            case "w":
                write(table, data.draw(ROWS))
            case "a":
                widen(table)
            case "A":
                swap_names(table)
            case _:
                table.compact(full=step == "C")
    return table


def write(table: Table, batch: Sequence[tuple[Any, ...]]) -> None:
    """Commit rows of (key, v, s, f), by the places of columns."""
    fields = table.schema.arrow_schema
    arrays = []
    for place, field in enumerate(fields):
        values = [(*key, *others)[place] for key, *others in batch]
        if pa.types.is_string(field.type):
            values = [None if value is None else str(value) for value in values]
        arrays.append(pa.array(values, field.type))
    table.write_and_commit(pa.Table.from_arrays(arrays, schema=fields))


def widen(table: Table) -> None:
    """Let the first number that is no key become wider, and a text after that."""
    field = table.schema.fields[2]
    wider = {"INT": "BIGINT", "BIGINT": "STRING", "STRING": "STRING"}[str(field.type)]
    table.alter(UpdateColumnType(path=(field.name,), type=parse_type(wider)))


def swap_names(table: Table) -> None:
    """Let two columns swap their names; what the options say of names stays."""
    one, other = (field.name for field in table.schema.fields[2:4])
    declared = table.schema.options[BLOOM]
    table.alter(
        RemoveOption(key=BLOOM),
        RenameColumn(path=(one,), name="between"),
        RenameColumn(path=(other,), name=one),
        RenameColumn(path=("between",), name=other),
        SetOption(key=BLOOM, value=declared),
    )


def found(table: Table, column: str, op: str, value: object) -> list[str]:
    condition = Condition(column=column, op=op, value=value)
    return sorted(map(repr, table.scan(where=[condition]).to_arrow().to_pylist()))


@ENGINE
@settings(deadline=None, max_examples=6)
@given(data=st.data())
def test_conditions_find_the_rows_that_fulfil_them(engine: str, data: st.DataObject) -> None:
    table = given_table(engine, data)
    every = table.scan().to_arrow().to_pylist()

    for column in table.schema.field_names:
        there = {repr(row[column]): row[column] for row in every if row[column] is not None}
        for text, value in there.items():
            expected = sorted(repr(row) for row in every if repr(row[column]) == text)
            assert found(table, column, "=", value) == expected
        is_text = pa.types.is_string(table.schema.arrow_schema.field(column).type)
        absent = "no value" if is_text else 10_000
        expected = sorted(repr(row) for row in every if row[column] is not None)
        assert found(table, column, "in", [absent, *there.values()]) == expected


@ENGINE
@settings(deadline=None, max_examples=3)
@given(data=st.data())
def test_lookups_find_the_rows_of_their_keys(engine: str, data: st.DataObject) -> None:
    table = given_table(engine, data)
    every = {(row["k"], row["j"]): row for row in table.scan().to_arrow().to_pylist()}
    keys = [*KEYS, (2, "y"), (7, "x")]
    asked = pa.table({"k": pa.array([k for k, _ in keys], pa.int32()), "j": [j for _, j in keys]})

    rows = table.lookup(asked).to_pylist()

    assert list(map(repr, rows)) == [repr(every[key]) for key in keys if key in every]
    for key in keys:
        row = table.get({"k": key[0], "j": key[1]})
        assert (row is None) == (key not in every)
