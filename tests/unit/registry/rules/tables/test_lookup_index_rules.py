"""Lookup indexes name columns by whose values the records of a row can be found."""

from typing import Any

import pytest

from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import TableSpec

COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "type": "BIGINT"},
    {"name": "total", "type": "BIGINT", "aggregate": {"function": "sum"}},
    {"name": "highest", "type": "BIGINT", "aggregate": {"function": "max"}},
    {"name": "city", "type": "STRING"},
    {"name": "weight", "type": "DOUBLE"},
    {"name": "tags", "type": "ARRAY<STRING>"},
]


def problems(*indexes: dict[str, Any]) -> list[tuple[str, str | None]]:
    spec = TableSpec.model_validate(
        {
            "columns": COLUMNS,
            "primary_key": ["id"],
            "merge_engine": "aggregation",
            "lookup_indexes": indexes,
        }
    )
    return [(problem.field, problem.value) for problem in check_table("shop", "orders", spec)]


def test_columns_with_values_of_records_can_be_indexed() -> None:
    assert (
        problems({"name": "a", "columns": ["city", "highest"]}, {"name": "b", "columns": ["id"]})
        == []
    )


@pytest.mark.parametrize("column", ["total", "weight", "tags", "nothing"])
def test_other_columns_cannot(column: str) -> None:
    found = problems({"name": "a", "columns": ["city", column]})

    assert found == [("lookup_indexes[0].columns[1]", column)]


def test_names_and_columns_are_given_once() -> None:
    index = {"name": "a", "columns": ["city", "city"]}

    assert problems(index, {"name": "a", "columns": ["id"]}) == [
        ("lookup_indexes[1].name", "a"),
        ("lookup_indexes[0].columns[1]", "city"),
    ]
