"""Example tables with aggregate functions, and helpers to vary them."""

from collections.abc import Mapping
from typing import Any

from braid.schemas import TableSpec


def column(name: str, sql: str, function: str | None = None, **options: Any) -> dict[str, Any]:
    """A declared column, with its aggregate function and the function's options."""
    declared: dict[str, Any] = {"name": name, "type": sql}
    if function is not None:
        declared["aggregate"] = {"function": function, **options}
    return declared


def totals(*columns: Mapping[str, Any], **changes: Any) -> TableSpec:
    """An aggregation table of a key and the columns."""
    return TableSpec.model_validate(
        {
            "columns": [column("id", "BIGINT"), *columns],
            "primary_key": ["id"],
            "merge_engine": "aggregation",
        }
        | changes
    )


def grouped(*columns: Mapping[str, Any], **changes: Any) -> TableSpec:
    """A partial-update table of a key and one group: `at` orders the columns."""
    group = {"name": "sales", "ordering": ["at"], "columns": [c["name"] for c in columns]}
    return TableSpec.model_validate(
        {
            "columns": [column("id", "BIGINT"), column("at", "INT"), *columns],
            "primary_key": ["id"],
            "sequence_groups": [group],
        }
        | changes
    )
