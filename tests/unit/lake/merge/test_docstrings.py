"""Docstrings of `braid.lake.merge`: what public names do, what they raise, and where rules are specified."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import braid.lake.merge
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.registry import FUNCTIONS

PACKAGE = Path(braid.lake.merge.__path__[0])
MODULES = sorted(PACKAGE.rglob("*.py"))
WITHOUT_RULES = frozenset(
    {
        "column_parts.py",
        "failing_key.py",
        "functions/extension.py",
        "functions/reductions/segment_folds.py",
        "functions/registry.py",
        "functions/support/elements.py",
        "functions/support/number_columns.py",
        "functions/support/option_values.py",
        "order/key_codes.py",
        "plain_values.py",
        "row_reductions.py",
        "selection.py",
        "steps.py",
    }
)
"""Modules without a rule of merging: numbers, arrays, lists of names."""

REFUSALS = ("Raise", "Refuse")
"""First words of the docstring of a function that always raises."""

A_TYPE_OF = {
    "ARRAY": "ARRAY<INT>",
    "MAP": "MAP<STRING, INT>",
    "MAP whose values are a ROW of at least two fields, one of which is the time, a text": (
        "MAP<STRING, ROW<x INT, at STRING>>"
    ),
    "ARRAY of ROW": "ARRAY<ROW<x INT>>",
    "VARBINARY, BYTES": "BYTES",
    "BOOLEAN": "BOOLEAN",
    "STRING": "STRING",
}


def names(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield classes, functions and methods with their dotted names, private ones as well."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield f"{prefix}{node.name}", node
            yield from definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{prefix}{node.name}", node


def is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def raising(functions: dict[str, ast.FunctionDef]) -> set[str]:
    """Return the functions of one module that raise, directly or through one another."""
    found = {
        name
        for name, node in functions.items()
        if any(isinstance(part, ast.Raise) and part.exc for part in ast.walk(node))
    }
    while True:
        more = {name for name, node in functions.items() if _calls(name, node) & found}
        if more <= found:
            return found
        found |= more


def _calls(name: str, node: ast.FunctionDef) -> set[str]:
    """Return the functions of the module, and methods of the same class, that are called."""
    called: set[str] = set()
    owner = name.rpartition(".")[0]
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Name(id=function)):
                called.add(function)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=method)):
                called.add(f"{owner}.{method}")
            case _:
                pass
    return called


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_every_public_name_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    silent = [
        name
        for name, node in definitions(tree)
        if is_public(name) and not ast.get_docstring(node)  # type: ignore[arg-type] # both kinds have one
    ]
    assert ast.get_docstring(tree)
    assert silent == []


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_every_public_function_that_raises_says_so(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {
        name: node for name, node in definitions(tree) if isinstance(node, ast.FunctionDef)
    }

    silent = [
        name
        for name in raising(functions)
        if is_public(name)
        and "raise" not in (text := ast.get_docstring(functions[name]) or "").lower()
        and not text.startswith(REFUSALS)
    ]
    assert sorted(silent) == []


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_every_module_of_rules_names_its_source(path: Path) -> None:
    has_source = "Source:" in path.read_text(encoding="utf-8")

    assert has_source or path.name == "__init__.py" or names(path) in WITHOUT_RULES


def test_modules_listed_as_without_rules_exist_and_name_no_source() -> None:
    listed = {path for path in MODULES if names(path) in WITHOUT_RULES}

    assert {names(path) for path in listed} == WITHOUT_RULES
    assert [names(path) for path in listed if "Source:" in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_declares_its_rules(name: str) -> None:
    declaration = FUNCTIONS[name]
    type_name = A_TYPE_OF.get(declaration.accepted, "INT")
    data_type = parse_type(type_name)
    assert declaration.accepts(data_type)
    options = (("nested-key", "x"),) if name == "nested_partial_update" else ()
    function = ColumnFunction(column="v", name=name, options=options)
    made = type(declaration.make(function, to_arrow_type(data_type)))

    said = [made.__doc__, *(getattr(made, m).__doc__ for m in ("aggregate", "retract"))]
    assert all(said)
    for rule in (declaration.summary, declaration.null_rule, declaration.late_rule):
        assert rule.endswith(".")
    assert declaration.retract_rule is None or declaration.retract_rule.endswith(".")
    assert declaration.retract_rule is not None or str(said[2]).startswith(REFUSALS)
