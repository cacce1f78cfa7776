"""`braid table …` against a service: lists, declarations, maintenance and completeness."""

import json
from collections.abc import Callable
from typing import Any

import yaml

from tests.unit.braid.cli.conftest import DECLARATION

TABLE = "shop.orders"
Run = Callable[..., Any]


def test_tables_are_listed_and_shown(braid: Run) -> None:
    as_text, as_json = braid("table", "list"), braid("table", "list", "--output", "json")
    shown = braid("table", "show", TABLE, "--output", "yaml")
    columns = braid("table", "show", TABLE)

    assert as_text.stdout == "table\nshop.orders\n"
    assert json.loads(as_json.stdout)["tables"] == [{"database": "shop", "name": "orders"}]
    spec = yaml.safe_load(shown.stdout)["spec"]
    assert spec["primary_key"] == DECLARATION["primary_key"]
    assert [line.split() for line in columns.stdout.splitlines()[1:3]] == [
        ["id", "BIGINT", "NOT", "NULL", "key"],
        ["total", "DECIMAL(10,", "2)", "orders"],
    ]


def test_maintenance_and_completeness(braid: Run) -> None:
    maintenance = braid("table", "maintenance", TABLE)
    counts = braid("table", "completeness", TABLE)
    while "all rows: -" in counts.stdout:  # they are being counted
        counts = braid("table", "completeness", TABLE)

    assert "most sorted runs of a bucket       3\n" in maintenance.stdout
    assert "maintained by                      no runner\n" in maintenance.stdout
    assert [line.split() for line in counts.stdout.splitlines()[1:]] == [
        ["orders", "orders", "1", "0", "0", "0"],
        ["parcels", "parcels", "1", "0", "0", "0"],
        ["all", "rows:", "1", "complete:", "1"],
    ]


def test_a_table_is_dropped_over_http(braid: Run) -> None:
    running = braid("table", "drop", TABLE, "--yes", TABLE)
    for stream in ("orders", "parcels"):
        braid("stream", "stop", TABLE, stream)
    misnamed = braid("table", "drop", TABLE, "--yes", "orders")
    done = braid("table", "drop", TABLE, "--yes", TABLE)

    assert [one.exit_code for one in (running, misnamed, done)] == [4, 2, 0]
    assert done.stdout == "shop.orders: dropped\n"
    assert braid("table", "list").stdout == "table\n"
