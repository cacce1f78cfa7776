"""A default is written only into rows of the stream that owns the column."""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, MemoryFileIO
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import FieldProblem, StreamSpec, TableSpec
from tests.unit.registry.shop import ORDERS, definition, mapped, orders


def with_default(name: str, text: str, **changes: Any) -> TableSpec:
    columns = [
        column | {"default": text} if column["name"] == name else column
        for column in ORDERS["columns"]
    ]
    return orders(columns=columns, **changes)


def places(problems: list[FieldProblem]) -> list[str | None]:
    return [problem.pointer for problem in problems]


def test_the_default_of_a_group_is_not_written_by_other_streams(file_io: MemoryFileIO) -> None:
    spec = with_default("method", "cash")
    assert check_table("shop", "orders", spec) == []
    defined = physical_table(spec)
    table = Catalog("/w", file_io=file_io).create_table(
        "shop.orders",
        columns=defined.columns,
        primary_key=defined.primary_key,
        options=defined.options,
    )
    key = {"id": [7], "region": ["eu"]}
    paid = {"payments__partition": [0], "payments__offset": [1]}

    table.write_and_commit(pa.table({**key, **paid, "method": ["card"]}))
    table.write_and_commit(pa.table({**key, "order_version": [1], "currency": ["EUR"]}))
    table.write_and_commit(pa.table({"id": [8], "region": ["eu"], **paid}))
    table.write_and_commit(pa.table({"id": [9], "region": ["eu"], "order_version": [1]}))

    rows = table.scan(columns=["id", "method", "currency"]).to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == [
        {"id": 7, "method": "card", "currency": "EUR"},
        {"id": 8, "method": "cash", "currency": None},
        {"id": 9, "method": None, "currency": None},
    ]


@pytest.mark.parametrize(
    ("spec", "pointer"),
    [
        (with_default("order_version", "1"), "/columns/4/default"),
        (with_default("id", "1"), "/columns/0/default"),
        (
            with_default("total", "1", unordered="allowed", sequence_groups=[]),
            "/columns/2/default",
        ),
        (with_default("total", "x"), "/columns/2/default"),
    ],
)
def test_a_default_that_other_streams_would_write_is_refused(spec: TableSpec, pointer: str) -> None:
    assert places(check_table("shop", "orders", spec)) == [pointer]


def test_with_a_second_stream_an_aggregate_with_a_default_needs_every_stream() -> None:
    columns = [
        {"name": "id", "type": "BIGINT"},
        {"name": "clicks", "type": "BIGINT", "default": "1", "aggregate": {"function": "sum"}},
        {"name": "views", "type": "BIGINT", "aggregate": {"function": "sum"}},
    ]
    table = orders(
        columns=columns, primary_key=["id"], merge_engine="aggregation", sequence_groups=[]
    )
    assert check_table("shop", "orders", table) == []

    def stream(name: str, *names: str) -> StreamSpec:
        wanted = definition(name, columns=mapped("id", *names))
        return complete_stream(table, wanted, name=name)

    first, second = stream("one", "clicks"), stream("two", "views")
    assert check_stream(table, {}, first) == []
    (problem,) = check_stream(table, {"one": first}, second)
    assert problem.value == "clicks"
    assert "the records of the streams that do not write the column: `two`" in problem.message


@pytest.mark.parametrize(
    ("kind", "default", "reason"),
    [
        ("DATE", "2027", "expected a form such as 2026-01-31"),
        ("TIME(3)", "25:00:00", "expected a time of day before 24:00:00"),
        ("TIMESTAMP(3)", "2026-01-31 05:15:00.0001", "expected at most 3 digits of a second"),
        ("DATE", "2026-01-31", None),
        ("TIME(3)", "05:15", None),
        ("TIMESTAMP(3)", "2026-01-31 05:15:00.125", None),
    ],
)
def test_a_default_is_a_date_or_time_written_in_full(
    kind: str, default: str, reason: str | None
) -> None:
    """The format reads `2027` as a day in 1975, and 25 o'clock as a time that no writer accepts."""
    spec = TableSpec.model_validate(
        {
            "columns": [
                {"name": "id", "type": "BIGINT"},
                {"name": "v", "type": kind, "default": default},
            ],
            "primary_key": ["id"],
            "merge_engine": "deduplicate",
        }
    )

    problems = check_table("shop", "orders", spec)

    assert [problem.pointer for problem in problems] == ["/columns/1/default"] * bool(reason)
    assert all(str(reason) in problem.message for problem in problems)
