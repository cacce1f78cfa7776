"""`braid test`, run as the program that it is, and in this process."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from braid.cli.main import app
from tests.support.program import run_braid
from tests.unit.registry.shop import ORDERS
from tests.unit.service.routes.test_table_tests import BOTH, RIGHT, WRONG


def definition_file(folder: Path, *cases: dict[str, Any], **table: Any) -> str:
    path = folder / "orders.json"
    content = {
        "name": "shop.orders",
        "table": ORDERS | {"tests": {"cases": cases}} | table,
        "streams": {"sales": {"topic": "orders", "kafka": {"cluster": "unknown-here"}}},
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_the_program_prints_the_differences_and_fails(tmp_path: Path) -> None:
    ended = run_braid("test", definition_file(tmp_path, RIGHT, WRONG, BOTH))

    assert ended.returncode == 1
    assert ended.stdout.splitlines() == [
        "shop.orders",
        "  passed  right",
        "  FAILED  wrong",
        '          the row {"id":7,"region":"eu"}, column `total`: expected "2.00", found "1.00"',
        "  SKIPPED both",
        "          the table has no stream payments",
        "tests: 3 (1 passed, 1 failed, 1 skipped)",
    ]


def test_the_status_is_0_only_if_every_test_has_passed_and_there_is_one(tmp_path: Path) -> None:
    def status(*cases: dict[str, Any], **table: Any) -> int:
        arguments = ["test", definition_file(tmp_path, *cases, **table)]
        return CliRunner().invoke(app, arguments).exit_code

    assert status(RIGHT) == 0
    assert status(RIGHT, WRONG) == 1
    assert status(RIGHT, BOTH) == 1
    assert status() == 1
    assert status(RIGHT, buckets=0) == 2


def test_the_results_are_json_on_demand(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["test", "--output", "json", definition_file(tmp_path, RIGHT)])

    assert json.loads(result.stdout) == {
        "shop.orders": {
            "passed": True,
            "cases": [{"name": "right", "outcome": "passed", "differences": [], "message": None}],
        }
    }
