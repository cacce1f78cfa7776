"""A service over a table in memory whose streams have delivered records, and `braid` against it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from braid.cli.main import app
from tests.support.fed_table import FedTable, Message
from tests.support.served_app import served

DECLARATION: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "DECIMAL(10, 2)"},
        {"name": "version", "type": "INT"},
        {"name": "carrier", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "sequence_groups": [
        {"name": "orders", "ordering": ["version"], "columns": ["total"]},
        {"name": "parcels", "columns": ["carrier"]},
    ],
    "completeness": {"groups": ["orders", "parcels"]},
}
STREAMS: dict[str, dict[str, Any]] = {
    "orders": {"topic": "orders"},
    "parcels": {"topic": "parcels", "partitioned_by_key": True},
}


@pytest.fixture
def bed() -> FedTable:
    """The table `shop.orders`: one row whose newest record is late, one dead letter."""
    bed = FedTable(declaration=DECLARATION, streams=STREAMS)
    bed.feed("orders", Message(value={"id": 7, "total": "12.50", "version": 2}))
    bed.feed("parcels", Message(value={"id": 7, "carrier": "ACME"}))
    bed.feed("orders", Message(value={"id": 7, "total": "11.00", "version": 1}))
    bed.feed("orders", Message(value={"id": 8, "total": "lots", "version": 1}), dead_letters=1)
    return bed


@pytest.fixture
def address(bed: FedTable) -> Iterator[str]:
    """The address of a service of the table."""
    with served(bed.client.app) as address:
        yield address


@pytest.fixture
def braid(address: str) -> Callable[..., Any]:
    """`braid` with some arguments, against the service."""

    def run(*arguments: str, text: str | None = None) -> Any:
        environment = {"BRAID_API": address, "BRAID_TOKEN": ""}
        return CliRunner().invoke(app, list(arguments), env=environment, input=text)

    return run
