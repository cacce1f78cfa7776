"""Documents of YAML and JSON: values by YAML 1.2's core schema, the line of each, and what is refused."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer

from braid.cli.documents import parse_documents, read_documents

ORDERS = """\
# an order
kind: Table
name: shop.orders
spec:
  columns:
    - {name: id, type: BIGINT}
    - name: no
      type: "7"
  buckets: 4
---
kind: Stream
---
"""


def test_a_file_has_several_documents_and_each_value_has_a_line() -> None:
    table, stream = parse_documents(ORDERS, source="orders.yaml")

    assert table.value["spec"] == {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "no", "type": "7"}],
        "buckets": 4,
    }
    assert stream.value == {"kind": "Stream"}
    places = {"/name": 3, "/spec/columns/0/type": 6, "/spec/columns/1/type": 8, "/spec/buckets": 9}
    assert {pointer: table.lines[pointer] for pointer in places} == places
    assert table.place("/spec/buckets") == "orders.yaml:9"
    assert table.place("/spec/columns/1/default/x") == "orders.yaml:7"
    assert stream.place() == "orders.yaml:11"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-12", -12),
        ("010", 10),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("no", "no"),
        ("on", "on"),
        ("~", None),
        ("", None),
        ('"1"', "1"),
        ("'true'", "true"),
        ("2026-01-31", "2026-01-31"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0x1f", "0x1f"),
        (".inf", ".inf"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_a_scalar_has_the_type_of_the_core_schema(text: str, value: object) -> None:
    (document,) = parse_documents(f"x: {text}", source="x.yaml")

    assert document.value == {"x": value}
    assert type(document.value["x"]) is type(value)


def test_json_is_read_as_json() -> None:
    value = {"a": [1, 2.5, None, True, "\u00e9\t"], "b": {"c": "no"}}

    for text in (json.dumps(value), json.dumps(value, indent="\t")):
        (document,) = parse_documents(text, source="x.json")
        assert document.value == value
        assert document.place("/a/0") == "x.json"
    flow, *_ = parse_documents("{a: 1}\n---\n{b: 2}", source="x.yaml")
    assert flow.value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1\nb: 2\na: 3\n", "x:3': the key a is given twice"),
        ("a: [1", "x': expected YAML or JSON: while parsing a flow sequence"),
        ("a: !!python/object:os.system x\n", "x:1': expected a value without the tag"),
        ("? [1]\n: 2\n", "x:1': expected a text as a key"),
        ("a: &a [*a]\n", "expected at most 64 levels"),
        ("[" * 5_000, "expected at most 64 levels"),
        ("".join(f"{'  ' * n}- a:\n" for n in range(40)), "expected at most 64 levels"),
        (
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + "".join(
                f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]\n"
                for n in range(6)
            ),
            "expected at most 500000 values",
        ),
    ],
)
def test_what_no_declaration_needs_is_refused_in_one_line(
    text: str, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as left:
        parse_documents(text, source="x")

    (line,) = capsys.readouterr().err.splitlines()
    assert left.value.exit_code == 2
    assert found in line


def test_a_folder_stands_for_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "c.yml", "d.txt"):
        (tmp_path / name).write_text(json.dumps({"name": name}))

    found = read_documents([str(tmp_path)])

    assert [one.value["name"] for one in found] == ["a.json", "b.yaml", "c.yml"]
    assert found[0].source == str(tmp_path / "a.json")


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin: Any = io.TextIOWrapper(io.BytesIO(b"a: 1"))
    monkeypatch.setattr("sys.stdin", stdin)

    (document,) = read_documents(["-"])

    assert (document.value, document.place()) == ({"a": 1}, "-:1")


def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "large.yaml").write_bytes(b"#" * (9 << 20))

    for name, found in (
        ("none.yaml", "cannot be read: No such file"),
        ("empty", "the folder has no file with a name in .yaml, .yml, .json"),
        ("binary.yaml", "expected UTF-8"),
        ("large.yaml", "expected at most 8 MiB"),
    ):
        with pytest.raises(typer.Exit):
            read_documents([str(tmp_path / name)])
        assert found in capsys.readouterr().err
