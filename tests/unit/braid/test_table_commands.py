"""`braid table …`, run as the program that it is."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.stream_entries import Verb
from tests.support.program import run_braid
from tests.unit.braid.cli.test_compaction import given_table, write
from tests.unit.registry.shop import definition, orders

TABLE = "shop.orders"


def run(warehouse: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_braid("table", *arguments, "--warehouse", str(warehouse))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Return a warehouse whose table has three snapshots."""
    table = given_table(tmp_path)
    for k in (1, 2, 3):
        write(table, (k, k))
    return tmp_path


def keys(warehouse: Path) -> list[int]:
    return sorted(Catalog(str(warehouse)).table(TABLE).scan().to_arrow()["k"].to_pylist())


def test_tags_are_made_listed_and_deleted(warehouse: Path) -> None:
    made = run(warehouse, "tag", "create", TABLE, "first", "--snapshot", "1")
    run(warehouse, "tag", "create", TABLE, "week", "--retain", "7 d")
    run(warehouse, "tag", "create", TABLE, "brief", "--retain", "90 min", "--snapshot", "2")
    listed = run(warehouse, "tag", "list", TABLE)
    deleted = run(warehouse, "tag", "delete", TABLE, "first")
    run(warehouse, "tag", "delete", TABLE, "brief")
    expired = run(warehouse, "tag", "expire", TABLE)

    assert made.stdout == "shop.orders: tag first of snapshot 1, kept for ever\n"
    lines = [line.split(maxsplit=3) for line in listed.stdout.splitlines()[1:]]
    assert [(name, snapshot, kept) for name, snapshot, _, kept in lines] == [
        ("brief", "2", "1 h 30 min"),
        ("first", "1", "for ever"),
        ("week", "3", "7 d"),
    ]
    assert deleted.stdout == "shop.orders: tag first is deleted, with 0 files of its own\n"
    assert expired.stdout == "shop.orders: no tag has expired\n"


def test_a_table_is_rolled_back(warehouse: Path) -> None:
    done = run(warehouse, "rollback", TABLE, "--snapshot", "1", "--yes", TABLE)

    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == (
        "shop.orders: rolled back to snapshot 1, 2 snapshots removed, the newest is 1\n"
    )
    assert keys(warehouse) == [1]


def test_a_table_whose_streams_run_is_not_rolled_back(tmp_path: Path) -> None:
    clock = SystemClock()
    store = RegistryStore(file_io_for(str(tmp_path)), str(tmp_path), clock)
    registrar = Registrar(store, Catalog(str(tmp_path)), clock)
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream(TABLE, "sales", definition(sequence_group="sales"))
    table = Catalog(str(tmp_path)).table(TABLE)
    table.committer().claim_stream("sales", topic="orders", initial_offsets={0: 4})

    refused = run(tmp_path, "rollback", TABLE, "--snapshot", "1", "--yes", TABLE)
    registrar.apply_verb(TABLE, "sales", Verb.STOP)
    done = run(tmp_path, "rollback", TABLE, "--snapshot", "1", "--yes", TABLE)

    assert refused.returncode == 4
    assert refused.stderr == (
        "error: streams of shop.orders are not stopped: sales (desired state RUNNING); hint: stop them and wait "
        "until their runners have released them\n"
    )
    assert done.returncode == 0
    assert "stream sales continues at the offsets of the snapshot, epoch 2\n" in done.stdout


def test_orphans_are_printed_and_deleted_with_the_option(warehouse: Path) -> None:
    stray = warehouse / "shop.db/orders/bucket-0/data-x-0.parquet"
    stray.write_bytes(b"12345")
    os.utime(stray, (1_000_000_000, 1_000_000_000))

    found = run(warehouse, "clean-orphans", TABLE)
    young = run(warehouse, "clean-orphans", TABLE, "--older-than", "20000 d")
    assert stray.exists()
    deleted = run(warehouse, "clean-orphans", TABLE, "--delete")

    assert found.stdout == (
        f"{stray}\t5\t2001-09-09T01:46:40+00:00\t"
        "data or changelog file that no snapshot, tag, branch or changelog names\n"
    )
    assert re.search(r"1 file, 5 bytes found, nothing was deleted", found.stderr)
    assert (young.stdout, "0 files, 0 bytes" in young.stderr) == ("", True)
    assert "1 younger kept" in young.stderr
    assert deleted.stdout == found.stdout
    assert not stray.exists()
    assert keys(warehouse) == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rollback", "orders", "--snapshot", "1"], "TABLE 'orders': expected database.table"),
        (["rollback", TABLE], "expected either --snapshot or --tag"),
        (["rollback", TABLE, "--snapshot", "1"], "--yes None: expected shop.orders"),
        (["tag", "create", TABLE, "a/b"], "expected a name without `/`"),
        (["tag", "create", TABLE, "a", "--retain", "soon"], "--retain 'soon': expected a duration"),
        (["tag", "delete", TABLE, "a"], "the table has no tag"),
        (["clean-orphans", TABLE, "--older-than", "x"], "--older-than 'x': expected a duration"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line(
    warehouse: Path, arguments: list[str], message: str
) -> None:
    done = run(warehouse, *arguments)

    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.returncode == 2
    assert keys(warehouse) == [1, 2, 3]


def test_help_loads_no_engine() -> None:
    code = "import sys, braid.cli.main; sys.exit('braid.lake' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_table_is_rescaled(warehouse: Path) -> None:
    done = run(warehouse, "rescale", TABLE, "--buckets", "3")
    again = run(warehouse, "rescale", TABLE, "--buckets", "3")
    refused = run(warehouse, "rescale", TABLE, "--buckets", "0")

    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == (
        "shop.orders: has 3 buckets at snapshot 4, 3 files replaced by 3, 3 rows\n"
    )
    assert again.stdout == "shop.orders: has 3 buckets already\n"
    assert refused.returncode == 2
    assert keys(warehouse) == [1, 2, 3]
    assert Catalog(str(warehouse)).table(TABLE).schema.table_options.bucket == 3


def test_a_registered_table_is_rescaled_while_its_streams_run(tmp_path: Path) -> None:
    clock = SystemClock()
    store = RegistryStore(file_io_for(str(tmp_path)), str(tmp_path), clock)
    registrar = Registrar(store, Catalog(str(tmp_path)), clock)
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream(TABLE, "sales", definition(sequence_group="sales"))

    done = run(tmp_path, "rescale", TABLE, "--buckets", "8")

    assert (done.stderr, done.returncode) == ("", 0)
    assert registrar.document(TABLE).table == orders(buckets=8)
    assert not registrar.put_table("shop", "orders", orders(buckets=8)).is_new


def test_a_table_is_inspected(warehouse: Path) -> None:
    as_text = run(warehouse, "inspect", TABLE, "snapshots", "--last", "2")
    as_json = run(warehouse, "inspect", TABLE, "levels", "--snapshot", "2", "--output", "json")

    assert (as_text.stderr, as_text.returncode) == ("", 0)
    names, *lines = [line.split() for line in as_text.stdout.splitlines()]
    assert names[:3] == ["snapshot_id", "kind", "committed_at"]
    assert [line[:2] for line in lines] == [["2", "APPEND"], ["3", "APPEND"]]
    assert [line[-1] for line in lines] == ["-", "-"]
    (level,) = map(json.loads, as_json.stdout.splitlines())
    assert (level["level"], level["files"], level["rows"]) == (0, 2, 2)


def test_an_unknown_view_is_refused_with_the_known_ones(warehouse: Path) -> None:
    refused = run(warehouse, "inspect", TABLE, "rows")

    assert (refused.stdout, refused.returncode) == ("", 2)
    assert "no such view (found `rows`); hint: views: snapshots, files, buckets" in refused.stderr


def test_a_table_is_dropped_when_its_name_is_confirmed(warehouse: Path) -> None:
    unnamed = run(warehouse, "drop", TABLE)
    misnamed = run(warehouse, "drop", TABLE, "--yes", "shop.other")
    dropped = run(warehouse, "drop", TABLE, "--yes", TABLE)

    assert [unnamed.returncode, misnamed.returncode, dropped.returncode] == [2, 2, 0]
    assert f"expected {TABLE}" in unnamed.stderr
    assert dropped.stdout == "shop.orders: dropped\n"
    assert Catalog(str(warehouse)).list_tables() == []
