"""`braid table alter`, run as the program that it is."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from braid.cli.alter_clauses import FORMS
from braid.lake import Catalog, SystemClock, Table, file_io_for
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from tests.support.program import run_braid
from tests.unit.braid.cli.test_compaction import given_table, write
from tests.unit.registry.shop import definition, orders
from tests.unit.service.routes.test_table_tests import RIGHT

TABLE = "shop.orders"


def alter(warehouse: Path, *arguments: str) -> CompletedProcess[str]:
    return run_braid("table", "alter", TABLE, *arguments, "--warehouse", str(warehouse))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = given_table(tmp_path)
    write(table, (1, 10))
    return table


def test_a_table_that_is_not_registered_is_altered(tmp_path: Path, table: Table) -> None:
    tried = alter(tmp_path, "RENAME v TO w", "ADD note STRING DEFAULT 'none'", "--dry-run")
    done = alter(tmp_path, "RENAME v TO w", "ADD note STRING DEFAULT 'none'")
    again = alter(tmp_path, "COMMENT 'x'", "DROP COMMENT")

    assert tried.stdout == "shop.orders: the changes are valid; nothing was changed\n"
    assert done.stdout == "shop.orders: has schema 1, changed from schema 0\n"
    assert again.stdout == "shop.orders: has schema 1, unchanged\n"
    assert (tried.returncode, done.returncode, again.returncode) == (0, 0, 0)
    table.refresh()
    assert table.get({"k": 1}) == {"k": 1, "w": 10, "note": None}


def test_a_registered_table_is_altered_with_its_streams(tmp_path: Path) -> None:
    clock = SystemClock()
    catalog = Catalog(str(tmp_path))
    registrar = Registrar(
        RegistryStore(file_io_for(str(tmp_path)), str(tmp_path), clock), catalog, clock
    )
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream(TABLE, "payments", definition("payments"))
    file = tmp_path / "changes.json"
    group = {"change": "add_sequence_group", "name": "returns", "columns": ["returned"]}
    add = {"change": "add_column", "column": "returned", "type": "DATE"}
    file.write_text(json.dumps({"changes": [add, group]}))

    done = alter(tmp_path, "ADD iban STRING IN payments", "--file", str(file))
    refused = alter(tmp_path, "DROP paid")
    tried = alter(tmp_path, "DROP paid", "--dry-run")

    assert done.stdout == "shop.orders: has schema 1, changed from schema 0\n"
    document = registrar.document(TABLE)
    assert document.streams["payments"].spec.column_names[-1] == "iban"
    assert document.table.sequence_group("returns") is not None
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "changes[0].column: the stream `payments` writes this column" in refused.stderr
    assert tried.stderr == refused.stderr


def test_a_change_that_makes_a_required_test_fail_is_refused(tmp_path: Path) -> None:
    clock = SystemClock()
    store = RegistryStore(file_io_for(str(tmp_path)), str(tmp_path), clock)
    registrar = Registrar(store, Catalog(str(tmp_path)), clock)
    tests = {"cases": [RIGHT], "required": True}
    registrar.put_table("shop", "orders", orders(tests=tests))
    registrar.put_stream(TABLE, "sales", definition("orders"))

    refused = alter(tmp_path, "ALTER total TYPE DECIMAL(12, 3)")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "table.tests.cases[0].expect.rows[0].row.total: the test `right` fails" in refused.stderr
    assert 'expected "1.00", found "1.000"' in refused.stderr
    assert registrar.document(TABLE).schema_id == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected at least one change"),
        (["DROP"], "CHANGE 'DROP': expected DROP [COLUMN] name"),
        (["MAKE x"], "expected a change that begins with ADD, DROP"),
        (["ALTER v NOT NULL"], "expected ALTER [COLUMN] name TYPE type | SET NOT NULL"),
        (["SET x=1"], "expected SET 'option' = 'value'"),
        (["DROP nope"], "changes[0].name: there is no such column"),
        (["ADD x INT IN sales"], "changes[0].sequence_group: only registered tables support this"),
        (["--file", "/nope/x.json"], "No such file"),
    ],
)
def test_an_invalid_change_is_refused_in_one_line(
    tmp_path: Path, table: Table, arguments: list[str], message: str
) -> None:
    done = alter(tmp_path, *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    table.refresh()
    assert table.schema.id == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"change": "nix"}, "CHANGE 'changes.0': no such kind; known: 'add_column', "),
        ({"column": "x"}, "CHANGE 'changes.0': expected an object with its kind"),
    ],
)
def test_a_file_with_an_unknown_change_is_refused_with_the_known_kinds(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    file = tmp_path / "changes.json"
    file.write_text(json.dumps({"changes": [change]}))

    done = alter(tmp_path, "--file", str(file))

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr


def test_the_help_has_every_form() -> None:
    shown = "".join(run_braid("table", "alter", "--help").stdout.split()).replace("│", "")

    for form in FORMS.values():
        assert "".join(form.split()) in shown
