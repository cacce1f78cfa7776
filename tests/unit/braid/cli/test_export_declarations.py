"""`braid export`: the declarations of a service, as documents that `braid apply` reads."""

import json
from collections.abc import Callable
from typing import Any

from braid.lake import SystemClock
from braid.registry.store.change_log import ChangeLog
from tests.support.fed_table import FedTable

Run = Callable[..., Any]


def test_what_is_exported_is_as_declared(braid: Run) -> None:
    exported = braid("export", "shop.*")
    applied = braid("apply", "-f", "-", "--prune", text=exported.stdout)

    assert exported.exit_code == 0
    assert applied.stdout.splitlines() == [
        "= table shop.orders",
        "= stream shop.orders/orders",
        "= stream shop.orders/parcels",
        "0 to create, 0 to change, 0 to delete, 3 unchanged",
    ]


def test_an_export_makes_the_same_again(braid: Run) -> None:
    braid("stream", "pause", "shop.orders", "parcels")
    exported = braid("export").stdout
    for stream in ("orders", "parcels"):
        braid("stream", "stop", "shop.orders", stream)
    braid("table", "drop", "shop.orders", "--yes", "shop.orders")

    made = braid("apply", "-f", "-", "--yes", text=exported)

    assert made.exit_code == 0, made.output
    assert braid("export").stdout == exported


def test_names_and_records(braid: Run) -> None:
    names = braid("export", "--output", "table")
    records = braid("export", "--output", "json")
    nothing = braid("export", "other.*")

    assert names.stdout.splitlines() == [
        "table shop.orders",
        "stream shop.orders/orders",
        "stream shop.orders/parcels",
    ]
    assert [json.loads(line)["kind"] for line in records.stdout.splitlines()] == [
        "Table",
        "Stream",
        "Stream",
    ]
    assert (nothing.stdout, nothing.exit_code) == ("", 0)


def test_a_table_that_cannot_be_read_is_named(braid: Run, bed: FedTable) -> None:
    path = "/w/_braid/tables/shop.orders/00000000000000000099.json"
    bed.file_io.create_exclusive(path, b"{}")
    ChangeLog(bed.file_io, "/w", SystemClock()).append(["shop.orders"])

    exported = braid("export")

    assert exported.exit_code == 1
    assert exported.stderr.startswith("error: shop.orders is missing: ")
