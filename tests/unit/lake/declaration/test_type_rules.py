"""Rules for types: a type that could not be read back is refused when a table is declared."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from braid.lake.declaration.column_problem import ColumnProblem
from braid.lake.declaration.type_rules import PARQUET_LEVELS_MAX, parquet_levels, type_problems
from braid.lake.errors import InvalidRequest
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type
from braid.lake.table.catalog import Catalog
from braid.lake.table.table import Table

VALUES: dict[str, Callable[[object], object]] = {
    "ARRAY<{}>": lambda inner: [inner],
    "MAP<INT, {}>": lambda inner: [(1, inner)],
    "ROW<x {}>": lambda inner: {"x": inner},
}


def nested(wrappers: list[str]) -> tuple[str, object]:
    """Return a type of these from the inside to the outside, and a value of it."""
    text = "INT"
    value: object = 1
    for wrapper in wrappers:
        text, value = wrapper.format(text), VALUES[wrapper](value)
    return text, value


def created(text: str) -> Table:
    catalog = Catalog("/warehouse", file_io=MemoryFileIO())
    return catalog.create_table(
        "x.deep", columns=[("k", "INT"), ("v", text)], primary_key=["k"], options={"bucket": "1"}
    )


@pytest.mark.parametrize(
    "wrappers",
    [
        ["ARRAY<{}>"] * 49,
        ["MAP<INT, {}>"] * 49,
        ["ROW<x {}>"] * 63,
        ["ARRAY<{}>"] * 48 + ["ROW<x {}>"] * 2,
        ["ROW<x {}>"] * 20 + ["MAP<INT, {}>"] * 39,
    ],
    ids=lambda wrappers: f"{wrappers[0]} {len(wrappers)}",
)
def test_the_deepest_types_that_are_accepted_are_read_back(wrappers: list[str]) -> None:
    text, value = nested(wrappers)
    table = created(text)
    arrow_type = table.schema.arrow_schema.field("v").type

    for _ in range(2):
        values = pa.array([value], arrow_type)
        table.write_and_commit(pa.table({"k": pa.array([1], pa.int32()), "v": values}))
    table.compact()

    assert table.scan().to_arrow().column("v").to_pylist() == [value]


@pytest.mark.parametrize(
    "wrappers",
    [
        ["ARRAY<{}>"] * 50,
        ["MAP<INT, {}>"] * 50,
        ["MULTISET<{}>"] + ["ARRAY<{}>"] * 49,
        ["ARRAY<{}>"] * 49 + ["ROW<x {}>"],
        ["ROW<x {}>"] * 21 + ["MAP<INT, {}>"] * 39,
    ],
    ids=lambda wrappers: f"{wrappers[0]} {len(wrappers)}",
)
def test_one_level_more_is_refused_by_name(wrappers: list[str]) -> None:
    text = "INT"
    for wrapper in wrappers:
        text = wrapper.format(text)

    with pytest.raises(InvalidRequest, match="levels deep in a Parquet file") as caught:
        created(text)

    assert [(problem.field, problem.value) for problem in caught.value.problems] == [
        ("columns", "v")
    ]


def test_the_deepest_branch_counts() -> None:
    shallow = parse_type("MAP<INT, ROW<a INT, b ARRAY<INT>>>")

    assert parquet_levels(shallow) == 2 + 1 + 2 + 1 < PARQUET_LEVELS_MAX


def test_a_problem_of_a_type_or_default_has_its_column_and_part() -> None:
    deep = "ARRAY<" * 50 + "INT" + ">" * 50
    fields = (
        DataField(id=0, name="a", type=parse_type(deep)),
        DataField(id=1, name="b", type=parse_type("INT"), default_value="x"),
        DataField(id=2, name="c", type=parse_type("DECIMAL(4, 2)"), default_value="100"),
        DataField(id=3, name="d", type=parse_type("TIMESTAMP(9)"), default_value="2300-01-01"),
    )
    schema = TableSchema(
        id=0,
        fields=fields,
        highest_field_id=3,
        partition_keys=(),
        primary_keys=(),
        options={},
        comment=None,
    )

    problems = list(type_problems(schema))

    assert [(p.column, p.part) for p in problems if isinstance(p, ColumnProblem)] == [
        ("a", "type"),
        ("b", "default"),
        ("c", "default"),
        ("d", "default"),
    ]


@pytest.mark.parametrize(("default", "is_fine"), [("23:59:59.999", True), ("24:00:00", False)])
def test_the_default_of_a_time_is_within_a_day(default: str, is_fine: bool) -> None:
    """The cast of the format reads more, and every write without the column failed."""
    field = DataField(id=0, name="t", type=parse_type("TIME(3)"), default_value=default)
    schema = replace(created("INT").schema, fields=(field,))

    assert [problem.value for problem in type_problems(schema)] == [default] * (not is_fine)
