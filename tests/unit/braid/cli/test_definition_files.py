"""Definition files are checked as registration checks declarations, and each problem has its place."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from braid.cli.declarations import DeclarationsRefused
from braid.cli.definition_files import read_definitions
from tests.unit.registry.shop import ORDERS

SALES = {"topic": "orders"}


def files(folder: Path, *contents: Any) -> list[Path]:
    """Write files, as JSON unless they are texts."""
    paths = [folder / f"{number}.json" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return paths


def test_a_table_and_its_streams_may_be_in_several_files(tmp_path: Path) -> None:
    plain = {"columns": [{"name": "k", "type": "INT"}], "primary_key": ["k"]}
    plain |= {"merge_engine": "deduplicate"}
    found = read_definitions(
        files(
            tmp_path,
            {"name": "shop.orders", "streams": {"sales": SALES}},
            {"name": "shop.orders", "table": ORDERS},
            {"name": "shop.keys", "table": plain, "streams": {"k": {"topic": "k"}}},
            {"name": "shop.orders", "streams": {"payments": {"topic": "p"}}},
        )
    )

    assert {one.identifier: list(one.streams) for one in found} == {
        "shop.keys": ["k"],
        "shop.orders": ["sales", "payments"],
    }
    sales = found[1].streams["sales"].spec
    assert (sales.sequence_group, sales.dead_letter_topic) == ("sales", "orders.dead-letters")


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (
            [{"name": "shop.orders", "streams": {"sales": SALES}}],
            "shop.orders: no file has the table",
        ),
        ([{"name": "a.b", "table": ORDERS}] * 2, "1.json: a.b is declared at "),
        (
            [{"name": "a.b", "table": ORDERS}, *[{"name": "a.b", "streams": {"sales": SALES}}] * 2],
            "2.json: a.b/sales is declared at ",
        ),
        (
            [{"name": "a.b", "table": ORDERS | {"buckets": 0}}],
            "a.b: buckets: expected a whole number from 1 to 100000 (found 0); hint: leave it out",
        ),
        (
            [{"name": "a.b", "table": ORDERS, "streams": {"sales": {**SALES, "trigger_ms": 1}}}],
            "a.b/sales: trigger_ms: ",
        ),
        (
            [{"name": "a.b", "table": ORDERS, "streams": {"x": {**SALES, "where": "price >"}}}],
            "a.b/x: where: ",
        ),
    ],
)
def test_problems_of_declarations_are_lines(
    tmp_path: Path, contents: list[Any], expected: str
) -> None:
    with pytest.raises(DeclarationsRefused) as refused:
        read_definitions(files(tmp_path, *contents))

    assert any(expected in line for line in refused.value.lines), refused.value.lines


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[]", "expected an object with a `kind` of `Table`, `Stream`"),
        ({"kind": "View"}, "expected an object with a `kind` of `Table`, `Stream`"),
        ({"table": ORDERS}, "name: Field required"),
        ({"name": "a.b"}, "expected a `table`, or `streams`"),
        ({"name": "orders", "table": ORDERS}, "expected database.table, found 'orders'"),
        ({"name": "a.b", "table": ORDERS | {"odd": 1}}, "table.odd: Extra inputs"),
        ({"name": "a.b", "table": ORDERS | {"primary_key": []}}, "table.primary_key: "),
        ({"kind": "Table", "name": "a.b", "spec": ORDERS | {"odd": 1}}, "spec.odd: Extra inputs"),
        ({"kind": "Stream", "table": "a.b", "name": "x/y", "spec": SALES}, "found 'x/y'"),
    ],
)
def test_a_document_that_breaks_its_contract_is_a_line(
    tmp_path: Path, content: Any, expected: str
) -> None:
    with pytest.raises(DeclarationsRefused) as refused:
        read_definitions(files(tmp_path, content))

    assert any(expected in line for line in refused.value.lines), refused.value.lines
    assert all(line.startswith(f"{tmp_path}/0.json") for line in refused.value.lines)


def test_a_document_with_a_kind_is_read_like_one_without(tmp_path: Path) -> None:
    with_kinds = read_definitions(
        files(
            tmp_path,
            {"kind": "Table", "name": "shop.orders", "spec": ORDERS},
            {"kind": "Stream", "table": "shop.orders", "name": "sales", "spec": SALES},
        )
    )
    without = read_definitions(
        files(tmp_path, {"name": "shop.orders", "table": ORDERS, "streams": {"sales": SALES}})
    )

    assert with_kinds == without


def test_a_file_that_does_not_exist_ends_the_command_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        read_definitions([tmp_path / "none.json"])

    assert "cannot be read: No such file or directory" in capsys.readouterr().err
