"""`braid table expire` and `braid table consumer …`, run as the program that it is."""

import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from braid.lake import Catalog
from tests.support.program import run_braid
from tests.unit.braid.cli.test_compaction import given_table, write

TABLE = "shop.orders"


def run(warehouse: Path, *arguments: str) -> CompletedProcess[str]:
    return run_braid("table", *arguments, "--warehouse", str(warehouse))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Return a warehouse whose table has four snapshots, the last of a compaction."""
    table = given_table(tmp_path)
    for k in (1, 2, 3):
        write(table, (k, k))
    table.compact()
    return tmp_path


def earliest(warehouse: Path) -> int | None:
    return Catalog(str(warehouse)).table(TABLE).expire(dry_run=True).earliest


def test_snapshots_expire(warehouse: Path) -> None:
    kept = run(warehouse, "expire", TABLE)
    planned = run(warehouse, "expire", TABLE, "--retain-max", "1", "--dry-run")
    assert earliest(warehouse) == 1
    done = run(warehouse, "expire", TABLE, "--retain-max", "2")
    again = run(warehouse, "expire", TABLE, "--retain-max", "2")

    oldest = "the oldest left is"
    assert kept.stdout == f"{TABLE}: nothing to expire, {oldest} 1: the newest 10 stay\n"
    assert planned.stdout == (
        f"{TABLE}: snapshots 1 to 3 would expire, {oldest} 4: the newest 1 stay\n"
    )
    assert re.fullmatch(
        rf"{TABLE}: snapshots 1 to 2 expired, 0 data and changelog files \(0 bytes\) and \d+ others"
        rf" deleted, {oldest} 3: the newest 2 stay\n",
        done.stdout,
    )
    assert again.stdout == f"{TABLE}: nothing to expire, {oldest} 3: the newest 2 stay\n"
    assert earliest(warehouse) == 3


def test_age_is_counted_from_now(warehouse: Path) -> None:
    young = run(warehouse, "expire", TABLE, "--retain-min", "1", "--older-than", "1 d")
    run(warehouse, "expire", TABLE, "--retain-min", "1", "--older-than", "0 ms")

    assert "it is too young" in young.stdout
    assert earliest(warehouse) == 4


def test_consumers_are_listed_set_and_deleted(warehouse: Path) -> None:
    table = Catalog(str(warehouse)).table(TABLE)
    lease = table.lease(3, holder="a report")
    reset = run(warehouse, "consumer", "reset", TABLE, "feed", "--snapshot", "2")
    listed = run(warehouse, "consumer", "list", TABLE)
    held = run(warehouse, "expire", TABLE, "--retain-max", "1")
    deleted = run(warehouse, "consumer", "delete", TABLE, "feed")
    unknown = run(warehouse, "consumer", "delete", TABLE, "feed")

    assert reset.stdout == f"{TABLE}: consumer feed continues at snapshot 2\n"
    assert re.fullmatch(
        r"consumer +next snapshot  written at +leased until +holder +error\n"
        rf"{lease.id} +3  \S+  \S+Z  a report  -\n"
        r"feed +2  \S+  - +- +-\n",
        listed.stdout,
    )
    assert "the oldest left is 2: consumer feed continues there\n" in held.stdout
    assert deleted.stdout == f"{TABLE}: consumer feed is deleted\n"
    assert unknown.stdout == f"{TABLE}: no consumer feed\n"
    assert all(done.returncode == 0 for done in (reset, listed, held, deleted, unknown))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["expire", "orders"], "TABLE 'orders': expected database.table"),
        (["expire", TABLE, "--retain-min", "3", "--retain-max", "2"], "retain_max: must not be"),
        (["expire", TABLE, "--older-than", "x"], "--older-than 'x': expected a duration"),
        (["consumer", "reset", TABLE, "a/b", "--snapshot", "1"], "expected a name without `/`"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line(
    warehouse: Path, arguments: list[str], message: str
) -> None:
    done = run(warehouse, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
