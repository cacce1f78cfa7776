"""The cost of checking a declaration grows with its size, not with its square.

Counted in calls of Python functions, which depend on nothing but the declaration.
"""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import StreamDefinition, TableSpec

Columns = list[dict[str, Any]]


def one_group(columns: Columns, names: list[str]) -> dict[str, Any]:
    return {"columns": columns, "sequence_groups": [{"name": "g", "columns": names}]}


def group_each(columns: Columns, names: list[str]) -> dict[str, Any]:
    groups = [{"name": f"g{name}", "columns": [name]} for name in names]
    return {"columns": columns, "sequence_groups": groups, "deletes": "clear_columns"}


def no_group(columns: Columns, names: list[str]) -> dict[str, Any]:
    return {"columns": columns}


def unknown_functions(columns: Columns, names: list[str]) -> dict[str, Any]:
    declared = [{**column, "aggregate": {"function": "x.y"}} for column in columns[1:]]
    return {"columns": [columns[0], *declared], "merge_engine": "aggregation"}


def unknown_options(columns: Columns, names: list[str]) -> dict[str, Any]:
    return {**one_group(columns, names), "options": {f"x.{name}": "y" for name in names}}


def unknown_columns(columns: Columns, names: list[str]) -> dict[str, Any]:
    return one_group(columns, [f"{name}x" for name in names])


def key_of_all(columns: Columns, names: list[str]) -> dict[str, Any]:
    return {"columns": columns, "primary_key": names}


def table(make: Callable[[Columns, list[str]], dict[str, Any]], size: int) -> TableSpec:
    names = [f"c{number}" for number in range(size)]
    columns = [{"name": "id", "type": "BIGINT"}, *({"name": n, "type": "INT"} for n in names)]
    return TableSpec.model_validate({"primary_key": ["id"], **make(columns, names)})


def calls(work: Callable[[], object]) -> int:
    """Return how many Python functions and generator steps some work takes."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "make",
    [
        one_group,
        group_each,
        no_group,
        unknown_functions,
        unknown_options,
        unknown_columns,
        key_of_all,
    ],
)
def test_a_table_of_twice_the_columns_costs_about_twice_as_much(
    make: Callable[[Columns, list[str]], dict[str, Any]],
) -> None:
    small, large = table(make, 40), table(make, 160)
    check_table("a", "b", small)  # what is made once is made here

    once = calls(lambda: check_table("a", "b", small))

    assert calls(lambda: check_table("a", "b", large)) < 5 * once


@pytest.mark.parametrize("path", ["{}", "a.{}", "a.b", "a" + ".a" * 200])
def test_a_stream_of_twice_the_columns_costs_about_twice_as_much(path: str) -> None:
    def check(size: int) -> int:
        spec = table(one_group, size)
        columns = [{"column": c, "path": path.format(c)} for c in spec.column_names]
        definition = StreamDefinition.model_validate({"topic": "t", "columns": columns})
        stream = complete_stream(spec, definition, name="g")
        return calls(lambda: check_stream(spec, {}, stream))

    check(40)
    assert check(160) < 5 * check(40)
