"""A stream may add columns only where the order of arrival does not matter."""

from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.schemas import StreamSpec, TableSpec
from tests.unit.registry.shop import definition, mapped, orders

CLICKS = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "clicks", "type": "BIGINT", "aggregate": {"function": "sum"}},
        {"name": "views", "type": "BIGINT", "aggregate": {"function": "sum"}},
    ],
    "primary_key": ["id"],
    "merge_engine": "aggregation",
    "sequence_groups": [],
}


def stream(table: TableSpec, name: str, *names: str, **fields: Any) -> StreamSpec:
    wanted = definition(name, columns=mapped(*names), **fields)
    return complete_stream(table, wanted, name=name)


@pytest.mark.parametrize(
    ("default", "unordered", "is_fine"),
    [
        (None, "refused", False),
        ("last_non_null_value", "allowed", True),
        ("max", "refused", True),
        ("listagg", "refused", False),
    ],
)
@pytest.mark.parametrize("evolving", ["one", "two"])
def test_with_several_streams_the_default_function_decides(
    default: str | None, unordered: str, is_fine: bool, evolving: str
) -> None:
    table = orders(**CLICKS, default_aggregate=default, unordered=unordered)
    fields: dict[str, dict[str, str]] = {evolving: {"on_new_field": "evolve"}}
    one = stream(table, "one", "id", "clicks", **fields.get("one", {}))
    two = stream(table, "two", "id", "views", **fields.get("two", {}))

    assert check_stream(table, {}, one) == []
    problems = [p for p in check_stream(table, {"one": one}, two) if p.field == "on_new_field"]
    assert (problems == []) is is_fine
    assert all(f"new columns of `{evolving}`" in problem.message for problem in problems)


def test_a_stream_of_unordered_columns_evolves_only_where_the_table_allows_them() -> None:
    columns = [
        one.model_dump() | ({} if one.name in ("id", "region") else {"unordered": "allowed"})
        for one in orders().columns
    ]
    single = orders(sequence_groups=[], columns=columns)
    every = orders(sequence_groups=[], unordered="allowed")

    found = [
        [
            p.field
            for p in check_stream(table, {}, stream(table, "s", "id", "region", "total", **fields))
        ]
        for table, fields in (
            (single, {}),
            (single, {"on_new_field": "evolve"}),
            (every, {"on_new_field": "evolve"}),
        )
    ]

    assert found == [[], ["on_new_field"], []]


def test_a_stream_of_a_group_may_evolve() -> None:
    table = orders()
    names = ("id", "region", "paid", "method")

    assert check_stream(table, {}, stream(table, "payments", *names, on_new_field="evolve")) == []


def test_a_stream_has_no_more_columns_than_it_may_have() -> None:
    table = orders()
    names = ("id", "region", "paid", "method")
    wanted = stream(table, "payments", *names, on_new_field="evolve", columns_max=3)

    (problem,) = check_stream(table, {}, wanted)

    assert (problem.pointer, problem.value) == ("/columns_max", "3")


def test_an_evolving_stream_keeps_columns_that_no_other_stream_reads() -> None:
    table = orders(**CLICKS, default_aggregate="sum")
    evolved = stream(table, "one", "id", "clicks", "views", on_new_field="evolve")
    before = {"one": evolved}
    repeated = stream(table, "one", "id", "clicks", on_new_field="evolve")

    (problem,) = check_stream(table, before, repeated)

    assert (problem.pointer, problem.value) == ("/columns", "views")
    assert problem.hint is not None
    assert problem.hint.startswith('add {"column": "views"}, or leave `columns` out; with another')
    assert check_stream(table, before, evolved) == []
    assert check_stream(table, before, stream(table, "one", "id", "clicks")) == []
    heir = {"two": stream(table, "two", "id", "views")}
    assert check_stream(table, before | heir, repeated) == []
