"""`braid stream …` against a service: declarations, states and positions."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

TABLE = "shop.orders"
Run = Callable[..., Any]


def test_streams_are_listed_and_shown(braid: Run) -> None:
    of_table = braid("stream", "list", TABLE)
    of_all = braid("stream", "list")
    shown = braid("stream", "show", TABLE, "orders", "--output", "yaml")
    columns = braid("stream", "show", TABLE, "orders")

    lines = [line.split() for line in of_table.stdout.splitlines()[1:]]
    assert lines == [
        [TABLE, "orders", "orders", "orders", "RUNNING", "1"],
        [TABLE, "parcels", "parcels", "parcels", "RUNNING", "1"],
    ]
    assert of_all.stdout == of_table.stdout
    assert yaml.safe_load(shown.stdout)["spec"]["dead_letter_topic"] == "orders.dead-letters"
    assert columns.stdout.splitlines()[2].split() == ["total", "value", "total"]


def test_a_status_says_why_nothing_runs(braid: Run) -> None:
    done = braid("stream", "status", TABLE, "orders")

    assert done.exit_code == 0
    assert "state          UNASSIGNED\n" in done.stdout
    assert "hint: start one: `braid runner`" in done.stdout
    assert "dead letters   1 (1 wrong_type)\n" in done.stdout


def test_verbs_say_what_was_done_and_wait_for_the_state(braid: Run) -> None:
    paused = braid("stream", "pause", TABLE, "orders")
    stopped = braid("stream", "stop", TABLE, "orders", "--wait", "5")
    as_json = braid("stream", "stop", TABLE, "orders", "--wait", "5", "--output", "json")
    in_vain = braid("stream", "start", TABLE, "orders", "--wait", "0.1")
    restarted = braid("stream", "restart", TABLE, "orders", "--output", "json")

    assert (paused.exit_code, paused.stdout[:8]) == (0, "orders: ")
    assert (stopped.exit_code, stopped.stdout.splitlines()[-1]) == (0, "orders: STOPPED")
    assert json.loads(as_json.stdout)["state"] == "STOPPED"
    assert in_vain.exit_code == 1  # no runner takes it
    assert json.loads(restarted.stdout)["verb"] == "restart"


def test_a_verb_that_the_state_forbids_is_a_conflict(braid: Run) -> None:
    braid("stream", "stop", TABLE, "orders")
    done = braid("stream", "restart", TABLE, "orders")

    assert (done.exit_code, done.stdout) == (4, "")
    assert "stream_not_running" in done.stderr


def test_a_position_is_shown_tried_and_set(braid: Run) -> None:
    braid("stream", "stop", TABLE, "orders")
    shown = braid("stream", "offsets", TABLE, "orders")
    tried = braid("stream", "offsets", TABLE, "orders", "--set", "0=1", "--dry-run")
    done = braid("stream", "offsets", TABLE, "orders", "--set", "0=1")
    refused = braid(
        *("stream", "offsets", TABLE, "orders", "--set", "9=0", "--dry-run", "--output", "json")
    )

    assert shown.stdout.splitlines()[1].split() == ["0", "3", "-", "-"]
    assert tried.stdout == done.stdout
    assert done.stdout.splitlines()[1].split() == ["0", "3", "1", "2", "0", "0"]
    assert json.loads(refused.stdout)["valid"] is False
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: offsets.9: ")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--set", "0"], "expected PARTITION=OFFSET"),
        (["--set", "a=1"], "expected PARTITION=OFFSET"),
        (["--set", f"0={2**60}"], "expected PARTITION=OFFSET"),
        (["--set", "0=1", "--set", "00=2"], "the partition 0 is given twice"),
        (["--dry-run"], "expected at least one PARTITION=OFFSET"),
    ],
)
def test_wrong_offsets_are_refused(braid: Run, arguments: list[str], found: str) -> None:
    done = braid("stream", "offsets", TABLE, "orders", *arguments)

    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert found in done.stderr


def test_a_stream_is_deleted_when_its_name_is_confirmed(braid: Run) -> None:
    running = braid("stream", "delete", TABLE, "orders", "--yes", "orders")
    braid("stream", "stop", TABLE, "orders")
    unnamed = braid("stream", "delete", TABLE, "orders")
    done = braid("stream", "delete", TABLE, "orders", "--yes", "orders")
    again = braid("stream", "delete", TABLE, "orders", "--yes", "orders")

    assert [one.exit_code for one in (running, unnamed, done, again)] == [4, 2, 0, 3]
    assert "expected orders, because there is no terminal" in unnamed.stderr


@pytest.mark.parametrize(
    "verb", ["show", "status", "start", "pause", "delete", "offsets", "replay"]
)
def test_a_wrong_name_is_refused_in_one_line(braid: Run, verb: str) -> None:
    done = braid("stream", verb, TABLE, "a/b", "--api", "http://127.0.0.1:1")

    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "STREAM 'a/b': expected a letter" in done.stderr


def test_the_numbers_of_dead_letters_need_no_runner(braid: Run) -> None:
    done = braid("stream", "dead-letters", TABLE, "orders", "--limit", "0")

    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "1 dead letters (1 wrong_type), 0 replayed\n"


def test_a_replay_is_requested(braid: Run) -> None:
    arguments = ("stream", "replay", TABLE, "orders")
    requested = braid(*arguments, "--reason", "wrong_type", "--output", "json")
    in_vain = braid(*arguments, "--wait", "0.1")

    assert requested.exit_code == 0
    document = json.loads(requested.stdout)
    assert (document["selection"]["reasons"], document["result"]) == (["wrong_type"], None)
    assert in_vain.exit_code == 4  # the first one is under way
    assert "conflict" in in_vain.stderr
