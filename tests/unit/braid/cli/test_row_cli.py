"""`braid row …` against a service: rows, their status, and why they have their values."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.fed_table import FedTable

TABLE = "shop.orders"
Run = Callable[..., Any]
NEWER = '{"id": 7, "total": "13.00", "version": 3}'


def test_a_row_is_printed_in_each_form(braid: Run, bed: FedTable) -> None:
    as_text = braid("row", "get", TABLE, "id=7", "--columns", "total,carrier")
    as_json = braid("row", "get", TABLE, "id=7", "--output", "json")
    as_yaml = braid("row", "get", TABLE, "id=7", "-o", "yaml")

    assert as_text.stdout == "column   value\ntotal    12.50\ncarrier  ACME\n"
    answer = bed.get("rows?id=7")
    for document in (json.loads(as_json.stdout), yaml.safe_load(as_yaml.stdout)):
        assert document["row"] == answer["row"]
        assert document["snapshot"]["id"] == answer["snapshot"]["id"]


def test_a_missing_row_has_an_exit_status_of_its_own(braid: Run) -> None:
    missing = braid("row", "get", TABLE, "id=9")
    no_key = braid("row", "get", TABLE, "id=x")
    no_table = braid("row", "get", "shop.none", "id=7")

    assert [one.exit_code for one in (missing, no_key, no_table)] == [3, 2, 3]
    assert [one.stdout for one in (missing, no_key, no_table)] == [""] * 3
    assert "row_not_found" in missing.stderr
    assert "  id: expected BIGINT: not a whole number; hint: for example id=1" in no_key.stderr


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["orders", "id=7"], "TABLE 'orders': expected database.table"),
        ([TABLE, "7"], "COLUMN=VALUE '7': expected a column and a value"),
        ([TABLE, "=7"], "COLUMN=VALUE '=7': expected a column and a value"),
        ([TABLE, "id=7", "id=8"], "the column id is given twice"),
        ([TABLE, "id=7", "tag=a", "--tag", "b"], "--tag 'b': cannot be given for a table"),
    ],
)
def test_wrong_arguments_are_refused_without_a_request(
    braid: Run, arguments: list[str], found: str
) -> None:
    done = braid("row", "get", *arguments, "--api", "http://127.0.0.1:1")

    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert found in done.stderr


def test_the_status_of_a_row_has_a_line_for_each_group(braid: Run) -> None:
    head, *lines = braid("row", "status", TABLE, "id=7").stdout.splitlines()
    (absent,) = [
        line for line in braid("row", "status", TABLE, "id=9").stdout.splitlines() if "row" in line
    ]

    assert head.split()[:3] == ["group", "state", "stream"]
    assert [line.split()[:2] for line in lines] == [
        ["orders", "present"],
        ["parcels", "present"],
        ["row", "complete"],
    ]
    assert "no such row" in absent


def test_an_explanation_names_winner_and_losers_with_their_records_and_reasons(braid: Run) -> None:
    lines = braid("row", "explain", TABLE, "id=7").stdout.splitlines()

    assert [" ".join(line.split()) for line in lines[1:3]] == [
        "total 12.50 orders orders 0:0 version=2 wins: no version of the column is newer",
        "11.00 orders orders 0:1 version=1 lost: it is older, by its ordering values, than a version "
        "that came before it",
    ]
    assert {line.split()[0] for line in lines[1:] if not line.startswith(" ")} == {
        "total",
        "version",
        "carrier",
    }
    with_generated = braid("row", "explain", TABLE, "id=7", "--generated").stdout
    assert re.search(r"^orders__offset +0 ", with_generated, re.MULTILINE)


def test_an_explanation_of_no_row_says_so(braid: Run) -> None:
    done = braid("row", "explain", TABLE, "id=9")

    assert (done.exit_code, done.stderr) == (0, "shop.orders has no such row\n")


def test_what_if_and_without_show_the_columns_that_would_change(braid: Run, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"value": NEWER}))
    given = braid("row", "what-if", TABLE, "id=7", "--stream", "orders", "--value", NEWER)
    from_file = braid(
        *("row", "what-if", TABLE, "id=7", "--stream", "orders", "--record-file", str(record))
    )
    late = NEWER.replace("3}", "1}")
    lost = braid("row", "what-if", TABLE, "id=7", "--stream", "orders", "--value", late)
    without = braid("row", "without", TABLE, "id=7", "--stream", "orders", "--from-offset", "0")

    assert given.stdout.splitlines() == [
        "the record would become: row",
        "column   now    then",
        "total    12.50  13.00",
        "version  2      3",
    ]
    assert from_file.stdout == given.stdout
    assert lost.stdout.splitlines()[1:] == ["no column would have another value"]
    assert [line.split() for line in without.stdout.splitlines()[1:]] == [
        ["total", "12.50", "-"],
        ["version", "2", "-"],
    ]


def test_a_record_that_would_be_a_dead_letter_says_why(braid: Run) -> None:
    done = braid("row", "what-if", TABLE, "id=7", "--stream", "orders", "--value", '{"id": "x"}')

    assert "the record would become: dead_letter (wrong_type): " in done.stdout


def test_a_wrong_record_is_refused_in_one_line(braid: Run, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    record.write_text('{"values": 1}')
    arguments = ("row", "what-if", TABLE, "id=7", "--stream", "orders", "--record-file")

    for path, found in ((record, "record.values"), (tmp_path / "none", "cannot be read")):
        done = braid(*arguments, str(path))
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert found in done.stderr
