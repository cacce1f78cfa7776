"""`braid operation …` against a service: operations in a list, one by one, waited for and canceled."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from braid.cli.api.operation_wait import ended_operation
from braid.client import Client
from tests.support.doc_examples import ROOT
from tests.support.fed_table import TABLE as ADDRESS, FedTable, Message
from tests.unit.braid.cli.conftest import DECLARATION, STREAMS

TABLE = "shop.orders"
Run = Callable[..., Any]


@pytest.fixture
def bed() -> FedTable:
    """The table `shop.orders` of two records; its service begins no operation by itself."""
    bed = FedTable(declaration=DECLARATION, streams=STREAMS, operation_workers=0)
    for version in (1, 2):
        bed.feed("orders", Message(value={"id": 7, "total": "12.50", "version": version}))
    return bed


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


@pytest.mark.parametrize(
    ("command", "kind", "request_"),
    [
        ("compact shop.orders --due", "compaction", {"full": False}),
        (
            "table expire shop.orders --retain-max 9 --older-than 90s",
            "snapshot_expiry",
            {"dry_run": False, "retain_max": 9, "retained_seconds": 90},
        ),
        ("table expire shop.orders --dry-run", "snapshot_expiry", {"dry_run": True}),
        (
            "table clean-orphans shop.orders --older-than 2h",
            "orphan_cleaning",
            {"dry_run": True, "min_age_seconds": 7200},
        ),
        ("table clean-orphans shop.orders --delete", "orphan_cleaning", {"dry_run": False}),
        ("table rescale shop.orders --buckets 2", "rescale", {"buckets": 2}),
    ],
)
def test_commands_for_long_work_request_operations(
    braid: Run, command: str, kind: str, request_: dict[str, Any]
) -> None:
    done = braid(*command.split())

    assert done.exit_code == 0, done.output
    (operation,) = json.loads(braid("operation", "list", "--output", "json").stdout)["operations"]
    assert done.stdout.splitlines()[1].split() == ["operation", operation["id"]]
    assert operation["kind"] == kind
    assert operation["request"].items() >= request_.items()


@pytest.mark.slow
def test_long_work_is_waited_for(address: str, bed: FedTable) -> None:
    pool = bed.client.app.state.components.operation_pool
    command = [sys.executable, "-m", "braid", "compact", TABLE, "--wait", "60", "--api", address]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as compact:
        while compact.poll() is None:
            pool.run_due()
        output = compact.communicate()[0]

    assert compact.returncode == 0, output
    assert "SUCCEEDED" in output


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("compact shop.orders --workers 2", "--workers 2: expected together with --warehouse"),
        (
            "compact shop.orders --conf spark.x=1",
            "--conf 'spark.x=1': expected together with --master",
        ),
        (
            "table clean-orphans shop.orders --python python3",
            "--python 'python3': expected together with --master",
        ),
        ("table clean-orphans shop.orders --older-than 1min", "min_age_seconds"),
    ],
)
def test_what_a_service_does_not_do_is_refused(braid: Run, command: str, message: str) -> None:
    done = braid(*command.split())

    assert done.exit_code == 2
    assert message in done.stderr


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
