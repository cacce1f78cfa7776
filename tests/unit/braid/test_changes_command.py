"""`braid table changes`, run as the program that it is."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog
from tests.support.program import run_braid
from tests.unit.braid.cli.test_compaction import given_table, write

TABLE = "shop.orders"


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Return a warehouse whose table has two snapshots."""
    table = given_table(tmp_path, changelog_producer="input")
    write(table, (1, 10), (2, 20))
    write(table, (1, 11))
    return tmp_path


def test_changes_are_printed_a_line_each_row(warehouse: Path) -> None:
    done = run_braid("table", "changes", TABLE, "--warehouse", str(warehouse))

    assert done.stdout.splitlines() == [
        "snapshot_id\tkind\tk\tv",
        "1\t+I\t1\t10",
        "1\t+I\t2\t20",
        "2\t+I\t1\t11",
    ]
    assert done.stderr == "shop.orders: changes until snapshot 2, continue with --after 2\n"
    assert done.returncode == 0


def test_they_are_printed_as_json_from_where_a_consumer_continues(warehouse: Path) -> None:
    Catalog(str(warehouse)).table(TABLE).reset_consumer("billing", 2)

    done = run_braid(
        *("table", "changes", TABLE, "--consumer", "billing", "--columns", "v", "--output", "json"),
        *("--warehouse", str(warehouse)),
    )

    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"snapshot_id": 2, "kind": "+I", "row": {"v": 11}}
    ]


def test_a_range_ends_with_a_tag_and_delta_shows_what_was_written(warehouse: Path) -> None:
    Catalog(str(warehouse)).table(TABLE).create_tag("first", snapshot_id=1)

    done = run_braid(
        *("table", "changes", TABLE, "--until-tag", "first", "--mode", "delta"),
        *("--after-timestamp", "2020-01-01T00:00Z", "--warehouse", str(warehouse)),
    )

    assert done.stdout.splitlines()[1:] == ["1\t+I\t1\t10", "1\t+I\t2\t20"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--after", "9"), "expected the id of a snapshot from 0 to 2"),
        (("--consumer", "nobody"), "the table has no such consumer"),
        (("--consumer", "billing", "--after", "1"), "cannot be given together with --after"),
        (("--consumer", "billing", "--after-tag", "x"), "cannot be given together with --after"),
        (("--after", "1", "--after-tag", "x"), "cannot be given together with --after-tag"),
    ],
)
def test_a_wrong_range_is_refused_in_one_line(
    warehouse: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run_braid("table", "changes", TABLE, *arguments, "--warehouse", str(warehouse))

    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_tabs_line_ends_and_backslashes_are_escaped(tmp_path: Path) -> None:
    table = Catalog(str(tmp_path)).create_table(
        TABLE, columns=[("k", "STRING")], primary_key=["k"], options={"bucket": "1"}
    )
    table.write_and_commit(pa.table({"k": ["a\tb", "a\\tb", "c\nd\r"]}))

    done = run_braid("table", "changes", TABLE, "--warehouse", str(tmp_path))

    assert sorted(done.stdout.splitlines()[1:]) == [
        r"1	+I	a\\tb",
        r"1	+I	a\tb",
        r"1	+I	c\nd\r",
    ]
