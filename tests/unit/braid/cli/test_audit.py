"""The audit log on the command line: what commands leave in it, and `braid audit`."""

import getpass
import json
import socket
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from braid.cli.compaction import compact_tables
from braid.cli.exits import EXIT_TRY_AGAIN
from braid.cli.main import app
from braid.lake import BucketPool, Catalog, StorageUnavailable, SystemClock, file_io_for
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import Actor, TableSpec

SPEC = TableSpec.model_validate(
    {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "v", "type": "INT"}],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "g", "columns": ["v"]}],
    }
)
COMMANDS: list[tuple[str, list[str]]] = [
    ("change_schema", ["table", "alter", "shop.orders", "COMMENT 'all orders'"]),
    ("put_tag", ["table", "tag", "create", "shop.orders", "first"]),
    ("delete_tag", ["table", "tag", "delete", "shop.orders", "first"]),
    ("put_consumer", ["table", "consumer", "reset", "shop.orders", "c", "--snapshot", "1"]),
    ("delete_consumer", ["table", "consumer", "delete", "shop.orders", "c"]),
    (
        "roll_back_table",
        ["table", "rollback", "shop.orders", "--snapshot", "1", "--yes", "shop.orders"],
    ),
    ("rescale_table", ["table", "rescale", "shop.orders", "--buckets", "2"]),
    ("compact_table", ["compact", "shop.orders"]),
    ("expire_snapshots", ["table", "expire", "shop.orders", "--retain-max", "9"]),
    ("clean_orphan_files", ["table", "clean-orphans", "shop.orders", "--delete"]),
    ("drop_table", ["table", "drop", "shop.orders", "--yes", "shop.orders"]),
]
"""By action, in an order in which each command succeeds."""


def run(warehouse: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--warehouse", str(warehouse)])


def audit(warehouse: Path, *arguments: str) -> list[dict[str, Any]]:
    result = run(warehouse, "audit", "--output", "json", *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A warehouse with a registered table of two snapshots."""
    path, clock = str(tmp_path), SystemClock()
    store, catalog = RegistryStore(file_io_for(path), path, clock), Catalog(path)
    registrar = Registrar(store, catalog, clock, actor=Actor(name="creator"))
    registrar.put_table("shop", "orders", SPEC)
    table = catalog.table("shop.orders")
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "v": pa.array([1, 2], pa.int32())})
    for _ in range(2):
        table.write_and_commit(rows)
    return tmp_path


def test_every_command_that_changes_a_table_is_in_the_log(warehouse: Path) -> None:
    for action, arguments in COMMANDS:
        result = run(warehouse, *arguments)
        assert result.exit_code == 0, (action, result.output)

    found = audit(warehouse)

    assert [entry["action"] for entry in found] == [
        *(action for action, _ in reversed(COMMANDS)),
        "put_table",
    ]
    actor = {"name": getpass.getuser(), "address": socket.gethostname()[:128], "request_id": None}
    assert [entry["actor"] for entry in found[:-1]] == [actor] * len(COMMANDS)
    assert [entry["action"] for entry in audit(warehouse, "--actor", "creator")] == ["put_table"]


def test_a_compaction_whose_cluster_does_not_come_is_not_in_the_log(warehouse: Path) -> None:
    def unreachable() -> AbstractContextManager[BucketPool]:
        message = "the cluster spark://a:1 gives no session"
        raise StorageUnavailable(message)

    status = compact_tables(
        str(warehouse), ["shop.orders"], full=True, workers=None, new_pool=unreachable
    )

    assert status == EXIT_TRY_AGAIN
    assert [entry["action"] for entry in audit(warehouse)] == ["put_table"]


def test_entries_are_printed_for_people(warehouse: Path) -> None:
    run(warehouse, "table", "tag", "create", "shop.orders", "first")

    lines = run(warehouse, "audit", "--action", "put_tag").output.splitlines()

    assert lines[0].split("\t")[1:4] == [getpass.getuser(), "put_tag", "shop.orders"]
    assert lines[1:] == ["  /tags/first: null -> newest"]


def test_maintenance_is_in_the_log_with_what_was_requested_unless_it_is_a_dry_run(
    warehouse: Path,
) -> None:
    for arguments in (
        ["table", "expire", "shop.orders", "--dry-run"],
        ["table", "clean-orphans", "shop.orders"],
        ["compact", "shop.absent"],
        ["compact", "shop.orders", "--due"],
        ["table", "clean-orphans", "shop.orders", "--delete", "--older-than", "1 min"],
    ):
        run(warehouse, *arguments)

    (cleaned,), (compacted,) = (entry["changes"] for entry in audit(warehouse)[:-1])

    assert (cleaned["pointer"], cleaned["after"]["min_age_seconds"]) == ("/orphan_cleaning", 60)
    assert (compacted["pointer"], compacted["after"]["full"]) == ("/compaction", False)


def test_filters_and_the_limit(warehouse: Path) -> None:
    run(warehouse, "table", "tag", "create", "shop.orders", "first")

    assert len(audit(warehouse, "--limit", "1")) == 1
    assert len(audit(warehouse, "--table", "shop.orders")) == 2
    assert audit(warehouse, "--table", "shop.other") == []
    assert audit(warehouse, "--stream", "s") == []
    assert audit(warehouse, "--until", "2020-01-01T00:00Z") == []
    assert len(audit(warehouse, "--since", "2020-01-01T00:00Z")) == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--action", "fly"], "error: --action 'fly': expected one of put_table,"),
        (["--table", "orders"], "error: TABLE 'orders': expected database.table"),
        (["--since", "monday"], "error: "),
    ],
)
def test_wrong_arguments_are_told_in_one_line(
    warehouse: Path, arguments: list[str], line: str
) -> None:
    result = run(warehouse, "audit", *arguments)

    assert result.exit_code == 2
    assert result.stderr.startswith(line)


def test_a_table_that_is_not_registered_is_changed_with_an_entry(tmp_path: Path) -> None:
    Catalog(str(tmp_path)).create_table(
        "shop.orders", columns=[("id", "INT"), ("v", "INT")], primary_key=["id"]
    )
    run(tmp_path, "table", "alter", "shop.orders", "ADD note STRING")
    run(tmp_path, "table", "drop", "shop.orders", "--yes", "shop.orders")

    found = audit(tmp_path)

    assert [(entry["action"], entry["version"]) for entry in found] == [
        ("drop_table", None),
        ("change_schema", None),
    ]
    assert found[1]["changes"][0]["after"]["change"] == "add_column"
