"""`braid operation …` against a service: operations in a list, one by one, waited for and canceled."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from braid.cli.api.operation_wait import ended_operation
from braid.client import Client
from tests.support.fed_table import TABLE as ADDRESS, FedTable

TABLE = "shop.orders"
Run = Callable[..., Any]


@pytest.fixture
def compaction(bed: FedTable) -> str:
    """The id of a requested compaction, which nobody has begun."""
    accepted = bed.client.post(f"{ADDRESS}/compactions", json={})
    assert accepted.status_code == 202
    found: str = accepted.json()["id"]
    return found


def carry_out(bed: FedTable) -> None:
    bed.client.app.state.components.operation_pool.run_due()


def test_operations_are_listed_and_shown(braid: Run, compaction: str) -> None:
    as_text = braid("operation", "list")
    as_json = braid("operation", "list", "--table", TABLE, "--state", "PENDING", "--output", "json")
    others = braid("operation", "list", "--state", "RUNNING")
    shown = braid("operation", "show", compaction)

    assert as_text.stdout.splitlines()[1].split()[:4] == [compaction, "compaction", "PENDING", "-"]
    assert [one["id"] for one in json.loads(as_json.stdout)["operations"]] == [compaction]
    assert len(others.stdout.splitlines()) == 1
    facts = dict(line.split(maxsplit=1) for line in shown.stdout.splitlines())
    assert (facts["table"], facts["state"], facts["attempts"]) == (TABLE, "PENDING", "0")


def test_the_wait_ends_with_the_operation(braid: Run, bed: FedTable, compaction: str) -> None:
    early = braid("operation", "wait", compaction, "--seconds", "0")
    carry_out(bed)
    late = braid("operation", "wait", compaction, "--output", "json")

    assert early.exit_code == 75
    assert late.exit_code == 0
    assert json.loads(late.stdout)["result"]["files_out"] == 1
    assert late.stderr == ""


def test_a_canceled_operation_is_no_success(braid: Run, bed: FedTable, compaction: str) -> None:
    canceled = braid("operation", "cancel", compaction)
    carry_out(bed)
    waited = braid("operation", "wait", compaction)

    assert canceled.exit_code == 0
    assert "canceled by request  yes\n" in canceled.stdout
    assert waited.exit_code == 1
    assert "CANCELED" in waited.stdout


@pytest.mark.parametrize("verb", ["show", "wait", "cancel"])
def test_an_unknown_operation_is_not_found(braid: Run, verb: str) -> None:
    done = braid("operation", verb, "shop.orders.00000000000000000000")

    assert done.exit_code == 3
    assert done.stderr.startswith("error: ")


def test_a_terminal_shows_how_far_the_operation_is(
    address: str, bed: FedTable, compaction: str
) -> None:
    carry_out(bed)
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120, color_system=None)

    with Client(address) as client:
        found = ended_operation(client, compaction, seconds_max=0, console=console)

    assert found.progress is not None
    assert "compaction of shop.orders: SUCCEEDED" in shown.getvalue()
    assert "1 of 1 buckets" in shown.getvalue()
