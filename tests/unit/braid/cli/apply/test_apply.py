"""`braid apply` against a service: what is created, changed, deleted and refused, and that it is idempotent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.fed_table import FedTable
from tests.unit.braid.cli.conftest import DECLARATION, STREAMS

TABLE = "shop.orders"
CARTS = """\
kind: Stream
table: shop.carts
name: carts
spec:
  topic: carts
---
kind: Table
name: shop.carts
spec:
  columns:
    - {name: id, type: BIGINT}
    - {name: items, type: INT}
  primary_key: [id]
  merge_engine: deduplicate
"""
Run = Callable[..., Any]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes documents to a file, and returns its path."""

    def write(*documents: Any) -> str:
        path = tmp_path / "declared.yaml"
        path.write_text("---\n".join(yaml.safe_dump(one, sort_keys=False) for one in documents))
        return str(path)

    return write


def orders(**fields: Any) -> dict[str, Any]:
    return {"kind": "Table", "name": TABLE, "spec": DECLARATION | fields}


def stream(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "Stream", "table": TABLE, "name": name, "spec": STREAMS.get(name, {}) | fields}


def test_a_table_and_its_stream_are_created_once(braid: Run) -> None:
    tried = braid("apply", "-f", "-", "--dry-run", text=CARTS)
    created = braid("apply", "-f", "-", "--yes", text=CARTS)
    again = braid("apply", "-f", "-", text=CARTS)

    plan = [
        "+ table shop.carts",
        "+ stream shop.carts/carts",
        "2 to create, 0 to change, 0 to delete, 0 unchanged",
    ]
    assert tried.stdout.splitlines() == plan
    assert created.stdout.splitlines() == [
        *plan,
        "shop.carts: created",
        "shop.carts/carts: created",
    ]
    assert [one.exit_code for one in (tried, created, again)] == [0, 0, 0]
    assert again.stdout.splitlines() == [
        "= table shop.carts",
        "= stream shop.carts/carts",
        "0 to create, 0 to change, 0 to delete, 2 unchanged",
    ]
    assert braid("stream", "list", "shop.carts").stdout.splitlines()[1].split()[:2] == [
        "shop.carts",
        "carts",
    ]


def test_a_stream_that_is_declared_to_be_stopped_is_created_so(
    braid: Run, write: Callable[..., str]
) -> None:
    archive = {"name": "archived", "type": "STRING"}
    wide = orders(
        columns=[*DECLARATION["columns"], archive],
        sequence_groups=[
            *DECLARATION["sequence_groups"],
            {"name": "archive", "columns": ["archived"]},
        ],
    )
    path = write(
        wide,
        stream("archive", topic="archive", partitioned_by_key=True) | {"initial_state": "STOPPED"},
    )

    done = braid("apply", "-f", path, "--yes")

    assert done.exit_code == 0, done.stderr
    shown = braid("stream", "show", TABLE, "archive", "--output", "json")
    assert json.loads(shown.stdout)["desired_state"] == "STOPPED"


def test_what_is_registered_already_is_unchanged(braid: Run, write: Callable[..., str]) -> None:
    path = write(
        orders(), stream("orders"), {"name": TABLE, "streams": {"parcels": STREAMS["parcels"]}}
    )

    done = braid("apply", "-f", path, "--output", "json")

    assert done.exit_code == 0
    assert [step["action"] for step in json.loads(done.stdout)["steps"]] == ["unchanged"] * 3


def test_changes_are_shown_field_by_field_and_made(braid: Run, write: Callable[..., str]) -> None:
    city = {"name": "city", "type": "STRING"}
    changed = orders(
        columns=[*DECLARATION["columns"], city],
        sequence_groups=[
            DECLARATION["sequence_groups"][0],
            {"name": "parcels", "columns": ["carrier", "city"]},
        ],
        staleness={"default_seconds": 60},
    )
    path = write(changed, stream("orders", trigger_ms=1_000))

    done = braid("apply", "-f", path, "--yes")

    assert done.exit_code == 0, done.stderr
    for line in (
        "~ table shop.orders",
        '    + columns[city]: {"name": "city", "type": "STRING"',
        "    + staleness.default_seconds: 60",
        "    > rewrites nothing",
        "    - trigger_ms: 5000",
        "    + trigger_ms: 1000",
        "shop.orders: changed",
        "shop.orders/orders: changed",
    ):
        assert line in done.stdout
    assert braid("apply", "-f", path).stdout.splitlines()[-1].endswith("2 unchanged")
    assert "city" in braid("stream", "show", TABLE, "parcels").stdout


def test_a_stream_may_use_a_column_that_the_same_plan_adds(
    braid: Run, write: Callable[..., str]
) -> None:
    place = {"name": "place", "type": "STRING"}
    added = orders(
        columns=[*DECLARATION["columns"], place],
        sequence_groups=[*DECLARATION["sequence_groups"], {"name": "places", "columns": ["place"]}],
    )
    path = write(added, stream("places", topic="places", partitioned_by_key=True))

    done = braid("apply", "-f", path, "--yes")

    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["shop.orders: changed", "shop.orders/places: created"]


def test_streams_that_no_file_declares_are_deleted_on_demand(
    braid: Run, write: Callable[..., str]
) -> None:
    path = write(orders(), stream("orders"))

    kept = braid("apply", "-f", path, "--yes")
    pruned = braid("apply", "-f", path, "--yes", "--prune")

    assert kept.stdout.splitlines()[-1].endswith("2 unchanged")
    assert "- stream shop.orders/parcels" in pruned.stdout
    assert pruned.stdout.splitlines()[-1] == "shop.orders/parcels: deleted"
    assert len(braid("stream", "list", TABLE).stdout.splitlines()) == 2


def test_only_streams_with_the_labels_are_pruned(
    braid: Run, bed: FedTable, write: Callable[..., str]
) -> None:
    bed.client.patch("/v1/tables/shop/orders/streams/parcels", json={"labels": {"team": "shop"}})
    path = write(orders(), stream("orders"))

    def pruned(*labels: str) -> list[str]:
        options = [word for label in labels for word in ("--label", label)]
        done = braid("apply", "-f", path, "--dry-run", "--prune", *options)
        return [line for line in done.stdout.splitlines() if line.startswith("-")]

    assert pruned("team=shop") == pruned("team") == ["- stream shop.orders/parcels"]
    assert pruned("team=sales") == pruned("team=shop", "stage") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "team=shop"], "error: --label 'team=shop': expected together with --prune"),
        (["--prune", "--label", "=shop"], "error: --label '=shop': expected name=value or name"),
    ],
)
def test_a_label_that_cannot_limit_is_refused(braid: Run, options: list[str], message: str) -> None:
    done = braid("apply", "-f", "-", *options, text=CARTS)

    assert done.exit_code == 2
    assert message in done.stderr


def test_a_pruned_stream_gives_its_columns_to_a_new_one(
    braid: Run, write: Callable[..., str]
) -> None:
    path = write(
        orders(),
        stream("orders"),
        stream("deliveries", topic="d", sequence_group="parcels", partitioned_by_key=True),
    )

    done = braid("apply", "-f", path, "--yes", "--prune")

    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [
        "shop.orders/parcels: deleted",
        "shop.orders/deliveries: created",
    ]


def test_columns_are_dropped_only_on_demand(braid: Run, write: Callable[..., str]) -> None:
    wide = orders(
        columns=[*DECLARATION["columns"], {"name": "city", "type": "STRING"}],
        sequence_groups=[
            DECLARATION["sequence_groups"][0],
            {"name": "parcels", "columns": ["carrier", "city"]},
        ],
    )
    braid("stream", "stop", TABLE, "parcels")  # a column that a stream writes is never dropped
    braid("stream", "delete", TABLE, "parcels", "--yes", "parcels")
    braid("apply", "-f", write(wide), "--yes")
    path = write(orders())

    tried = braid("apply", "-f", path, "--dry-run")
    refused = braid("apply", "-f", path, "--yes")
    done = braid("apply", "-f", path, "--yes", "--drop-columns")

    assert "    ! the values of the column city are lost" in tried.stdout
    assert [one.exit_code for one in (tried, refused, done)] == [0, 2, 0]
    assert "give --drop-columns" in refused.stderr
    assert braid("apply", "-f", path).stdout.splitlines()[-1].endswith("1 unchanged")


def test_problems_name_file_and_line_and_nothing_is_changed(
    braid: Run, write: Callable[..., str], bed: FedTable
) -> None:
    path = write(
        orders(comment="new"),
        stream("orders", where="total >"),
        stream("new", topic="x", sequence_group="none"),
    )

    done = braid("apply", "-f", path, "--yes")

    assert done.exit_code == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    where = next(
        n for n, line in enumerate(Path(path).read_text().splitlines(), 1) if "where" in line
    )
    assert any(
        line.startswith(f"error: {path}:{where}: shop.orders/orders: where: ") for line in lines
    )
    assert any("shop.orders/new: sequence_group: " in line for line in lines)
    assert bed.document.table.comment is None


def test_what_cannot_change_is_refused_with_the_way_to_do_it(
    braid: Run, write: Callable[..., str]
) -> None:
    done = braid("apply", "-f", write(orders(buckets=8)), "--yes")

    assert done.exit_code == 2
    assert "buckets: is declared as `1` (found 8); hint: use `braid table rescale`" in done.stderr


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kind: View", "-:1: expected an object with a `kind` of `Table`, `Stream`"),
        ("", "expected the declaration of a table or a stream"),
        (CARTS.partition("---")[0], "there is no table of this name, and no file declares it"),
        (CARTS.replace("items, type: INT", "items, kind: INT"), "-:12: spec.columns[1].type: "),
    ],
)
def test_declarations_that_break_rules_are_refused(braid: Run, text: str, found: str) -> None:
    done = braid("apply", "-f", "-", "--yes", text=text)

    assert done.exit_code == 2
    assert found in done.stderr


def test_a_plan_is_not_carried_out_without_a_confirmation(braid: Run) -> None:
    done = braid("apply", "-f", "-", text=CARTS)

    assert done.exit_code == 2
    assert "--yes" in done.stderr
    assert braid("table", "list").stdout == "table\nshop.orders\n"
