"""`braid table tag`, `alter` and `rollback` against a service."""

import json
from collections.abc import Callable
from typing import Any

from braid.lake import ReadAt
from tests.support.fed_table import FedTable

TABLE = "shop.orders"
Run = Callable[..., Any]


def test_tags_are_created_listed_and_deleted(braid: Run) -> None:
    made = braid("table", "tag", "create", TABLE, "january", "--snapshot", "1", "--retain", "31 d")
    again = braid("table", "tag", "create", TABLE, "january", "--snapshot", "1")
    listed = braid("table", "tag", "list", TABLE)
    deleted = braid("table", "tag", "delete", TABLE, "january", "--wait", "60")
    left = braid("table", "tag", "list", TABLE, "--output", "json")

    assert made.stdout == "shop.orders: tag january of snapshot 1, kept 31 d\n"
    assert again.exit_code == 4
    name, snapshot, _committed_at, kept = listed.stdout.splitlines()[1].split(maxsplit=3)
    assert (name, snapshot, kept) == ("january", "1", "31 d")
    assert deleted.exit_code == 0
    assert "SUCCEEDED" in deleted.stdout
    assert json.loads(left.stdout) == {"tags": []}


def test_a_change_of_the_schema_is_shown_before_it_is_made(braid: Run) -> None:
    change = "ADD remark STRING IN orders"
    planned = braid("table", "alter", TABLE, change, "--dry-run")
    columns = braid("table", "show", TABLE)
    made = braid("table", "alter", TABLE, change)
    repeated = braid("table", "alter", TABLE, change, "--dry-run")

    assert planned.exit_code == 0
    assert "remark" in planned.stdout
    assert "remark" not in columns.stdout
    assert made.stdout == "shop.orders: has schema 1, changed from schema 0\n"
    assert "remark" in braid("table", "show", TABLE).stdout
    assert (repeated.exit_code, repeated.stdout) == (2, "")
    assert repeated.stderr.startswith("error: ")
    assert "a column of that name exists already" in repeated.stderr


def test_a_rollback_asks_for_the_name_and_for_stopped_streams(braid: Run, bed: FedTable) -> None:
    table = bed.catalog.table(TABLE)
    before = table.latest_snapshot()
    assert before is not None
    target = before.id - 1
    wanted = table.scan(at=ReadAt(snapshot_id=target)).to_arrow()
    rollback = ("table", "rollback", TABLE, "--snapshot", str(target))
    misnamed = braid(*rollback, "--yes", "orders")
    running = braid(*rollback, "--dry-run")
    refused = braid(*rollback, "--yes", TABLE)
    for stream in ("orders", "parcels"):
        braid("stream", "stop", TABLE, stream)
    planned = braid(*rollback, "--dry-run")
    unchanged = table.latest_snapshot()
    done = braid(*rollback, "--yes", TABLE, "--wait", "60")

    assert [one.exit_code for one in (misnamed, running, refused)] == [2, 2, 4]
    assert "orders" in running.stderr
    assert planned.exit_code == 0
    assert f"the later snapshots, up to {before.id}, are lost" in planned.stdout
    assert unchanged == before
    assert done.exit_code == 0
    assert table.scan().to_arrow().equals(wanted)
