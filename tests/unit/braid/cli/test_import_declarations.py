"""`braid import`: the declarations of files are registered, each by itself, and what is registered stays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from braid.cli.exits import EXIT_CONFLICT, EXIT_USAGE
from tests.support.fed_table import FedTable

Braid = Callable[..., Any]


@pytest.fixture
def exported(braid: Braid, tmp_path: Path) -> Path:
    """A file with the declarations of the service."""
    done = braid("export")
    assert done.exit_code == 0, done.output
    path = tmp_path / "declarations.yaml"
    path.write_text(done.stdout)
    return path


def test_what_is_exported_is_imported_again_as_it_is(braid: Braid, exported: Path) -> None:
    done = braid("import", str(exported))

    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "shop.orders: unchanged",
        "shop.orders/orders: unchanged",
        "shop.orders/parcels: unchanged",
    ]


def test_a_table_that_is_gone_is_registered_again_with_its_streams(
    braid: Braid, exported: Path, bed: FedTable
) -> None:
    for stream in ("orders", "parcels"):
        bed.client.post(f"/v1/tables/shop/orders/streams/{stream}/stop", json={})
    dropped = bed.client.delete("/v1/tables/shop/orders?confirm=shop.orders", json={})
    assert dropped.status_code == 204, dropped.text

    planned = braid("import", str(exported), "--dry-run")
    is_there = bed.client.get("/v1/tables/shop/orders").is_success
    done = braid("import", str(exported), "--initial-state", "STOPPED")

    assert (planned.exit_code, is_there) == (0, False), planned.output
    assert "shop.orders/orders: to create" in planned.stdout.splitlines()
    assert "    registers the stream `orders`" in planned.stdout
    assert done.stdout.splitlines() == [
        "shop.orders: created",
        "shop.orders/orders: created",
        "shop.orders/parcels: created",
    ]
    states = bed.client.get("/v1/tables/shop/orders/streams").json()["streams"]
    assert {one["desired_state"] for one in states} == {"STOPPED"}


def test_what_differs_is_told_with_its_line_and_changed_on_demand(
    braid: Braid, exported: Path, bed: FedTable
) -> None:
    text = exported.read_text()
    exported.write_text(text.replace("owner: null", "owner: sales", 1))
    line = 1 + text[: text.index("owner: null")].count("\n")

    refused = braid("import", str(exported))
    changed = braid("import", str(exported), "--replace")

    assert refused.exit_code == EXIT_CONFLICT
    assert f"{exported}:{line}: shop.orders: owner: is registered as" in refused.stderr
    assert (changed.exit_code, changed.stdout.splitlines()[0]) == (0, "shop.orders: changed")
    assert bed.client.get("/v1/tables/shop/orders").json()["spec"]["owner"] == "sales"


def test_a_declaration_that_breaks_rules_is_refused_by_its_line(
    braid: Braid, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("kind: Stream\ntable: shop.none\nname: s\nspec:\n  topic: t\n")

    refused = braid("import", str(path))

    assert refused.exit_code == EXIT_USAGE
    assert refused.stdout.splitlines() == ["shop.none/s: refused"]
    assert f"{path}:4: shop.none/s: no table shop.none" in refused.stderr
