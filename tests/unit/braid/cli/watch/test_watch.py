"""`braid watch` against a service."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from braid.schemas import StreamState
from tests.support.doc_examples import ROOT
from tests.support.fed_table import FedTable, Message

TABLE = "shop.orders"
Run = Callable[..., Any]


def test_one_round_is_a_table_or_records(braid: Run) -> None:
    braid("stream", "stop", TABLE, "parcels")
    as_text = braid("watch", "--once")
    as_json = braid("watch", TABLE, "--once", "--output", "json")

    head, *lines = as_text.stdout.splitlines()
    assert head.split()[:3] == ["table", "stream", "state"]
    assert [line.split()[:3] for line in lines] == [
        [TABLE, "orders", StreamState.UNASSIGNED],
        [TABLE, "parcels", StreamState.STOPPED],
    ]
    records = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert [(one["stream"], one["records"], one["dead_letters"]) for one in records] == [
        ("orders", 3, 1),
        ("parcels", 1, 0),
    ]
    assert records[0].keys() == {
        *("time", "table", "stream", "state", "lag_seconds", "lag_records", "records"),
        *("records_per_second", "dead_letters", "runner", "failure"),
    }
    assert as_json.exit_code == 0


def test_a_table_that_does_not_exist_ends_it(braid: Run) -> None:
    done = braid("watch", "shop.none", "--once")

    assert (done.exit_code, done.stdout) == (3, "")


def test_rounds_follow_one_another_with_rates_until_it_is_interrupted(
    address: str, bed: FedTable
) -> None:
    command = [sys.executable, "-m", "braid", "watch", TABLE, "--every", "0.2", "--api", address]
    # Where the tests run in the background, this process, and so its children, would ignore it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, handler)
    assert process.stdout is not None
    found = [json.loads(process.stdout.readline()) for _ in range(2)]
    bed.feed("orders", Message(value={"id": 9, "total": "1.00", "version": 1}))
    while found[-1]["records"] != 4:
        found.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGINT)

    assert process.wait() == 0
    process.stdout.close()
    grown = next(one for one in found if one["records"] == 4)
    assert grown["records_per_second"] > 0
    assert found[0]["records_per_second"] is None
