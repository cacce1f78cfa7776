"""An example table of three streams, and helpers to vary it."""

from typing import Any

from braid.schemas import StreamDefinition, TableSpec

ORDERS: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "region", "type": "STRING"},
        {"name": "total", "type": "DECIMAL(10, 2)"},
        {"name": "currency", "type": "STRING"},
        {"name": "order_version", "type": "INT"},
        {"name": "paid", "type": "DECIMAL(10, 2)"},
        {"name": "method", "type": "STRING"},
        {"name": "carrier", "type": "STRING"},
        {"name": "shipped", "type": "TIMESTAMP(3)"},
    ],
    "primary_key": ["id", "region"],
    "sequence_groups": [
        {"name": "sales", "ordering": ["order_version"], "columns": ["total", "currency"]},
        {"name": "payments", "columns": ["paid", "method"]},
        {"name": "shipping", "columns": ["carrier", "shipped"]},
    ],
}


def orders(**changes: Any) -> TableSpec:
    """The table, with some fields of the declaration replaced."""
    return TableSpec.model_validate(ORDERS | changes)


def definition(topic: str = "orders", **fields: Any) -> StreamDefinition:
    """A stream's definition."""
    return StreamDefinition.model_validate({"topic": topic} | fields)


def mapped(*columns: str) -> list[dict[str, str]]:
    """The mapping of columns to fields of the same names."""
    return [{"column": column} for column in columns]
