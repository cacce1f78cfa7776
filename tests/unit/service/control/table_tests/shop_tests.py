"""The document of the example table with its streams, and tests of it."""

from typing import Any

from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamEntry, TableDocument, TableSpec, TableTest
from tests.unit.registry.shop import definition, orders

KEY = {"id": 7, "region": "eu"}


def document(table: TableSpec | None = None, **streams: Any) -> TableDocument:
    """Return the document of `shop.orders`, by default with a stream for each group.

    Args:
        table: The declaration.
        streams: The fields of the definition of each stream.
    """
    table = table or orders()
    names = streams or {group.name: {} for group in table.sequence_groups}
    entries = {
        name: StreamEntry(
            spec=complete_stream(
                table,
                definition(name, **{"partitioned_by_key": True} | fields),
                name=name,
            )
        )
        for name, fields in names.items()
    }
    return TableDocument(database="shop", name="orders", table=table, streams=entries)


def case(*given: dict[str, Any], read_at_ms: int | None = None, **expect: Any) -> TableTest:
    """Return a test."""
    return TableTest.model_validate(
        {"name": "the test", "given": given, "expect": expect, "read_at_ms": read_at_ms}
    )


def sale(version: int | None, total: Any, **record: Any) -> dict[str, Any]:
    """Return a record of the stream `sales` for the key."""
    value = {**KEY, "order_version": version, "total": total}
    return {"stream": "sales", "value": value, **record}


def payment(paid: Any, **record: Any) -> dict[str, Any]:
    """Return a record of the stream `payments` for the key."""
    return {"stream": "payments", "value": {**KEY, "paid": paid}, **record}
