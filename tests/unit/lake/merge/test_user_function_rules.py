"""A user's function in a declaration: installed, with its own options, or broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from braid.lake.declaration.function_rules import known_functions
from braid.lake.declaration.ineffective_options import ineffective_options
from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest, UnsupportedFeature
from braid.lake.merge.functions import extension
from braid.lake.merge.functions.extension import GROUP, reset_installed_functions, user_function
from braid.registry.rules.tables.table_rules import check_table
from tests.unit.lake.merge.given_schemas import given_schema
from tests.unit.registry.aggregates import column, grouped

FUNCTION = "fields.v.aggregate-function"
AGGREGATION = {"merge-engine": "aggregation", FUNCTION: "acme.capped"}
PACKAGE = """
from braid.lake import Problem
from braid.lake.aggregates import FunctionDeclaration, FunctionOption

def problems(field, function):
    if function.option("cap", "1") == "unlucky":
        raise KeyError("unlucky")
    if not function.option("cap", "1").isdigit():
        yield Problem(field=f"fields.{field.name}.cap", value=function.option("cap", ""),
                      message="expected a number")

capped = FunctionDeclaration(
    name="acme.capped", summary="A capped sum.", accepts=lambda kind: str(kind) == "INT",
    accepted="INT", null_rule="ignored", late_rule="as any other", retract_rule=None,
    make=lambda function, kind: None, problems=problems,
    options=(FunctionOption(key="cap", type="integer", default="1", meaning="The most."),),
)
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with one function, and one whose module cannot be imported."""
    metadata = tmp_path / "acme_rules-1.0.dist-info"
    metadata.mkdir()
    (tmp_path / "acme_rules.py").write_text(PACKAGE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme_rules\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[{GROUP}]\nacme.capped = acme_rules:capped\nacme.broken = acme_nowhere:broken\n"
        "undotted = acme_rules:capped\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    reset_installed_functions()
    yield
    reset_installed_functions()


def test_names_that_no_package_brings_are_not_kept() -> None:
    user_function("acme.capped")
    kept = extension._load_user_function.cache_info().currsize

    assert [user_function(f"x.y{number}") for number in range(50)] == [None] * 50
    assert extension._load_user_function.cache_info().currsize == kept


def test_an_installed_function_is_accepted_with_its_options() -> None:
    schema = given_schema("k INT, v INT", options={**AGGREGATION, "fields.v.cap": "3"})

    validate_schema(schema)
    assert ineffective_options(schema) == ()


@pytest.mark.parametrize(
    ("columns", "options", "field", "value"),
    [
        ("k INT, v STRING", AGGREGATION, FUNCTION, "acme.capped"),
        ("k INT, v INT", {**AGGREGATION, "fields.v.cap": "x"}, "fields.v.cap", "x"),
        ("k INT, v INT", {**AGGREGATION, FUNCTION: "acme.capd"}, FUNCTION, "acme.capd"),
    ],
    ids=["type", "option", "name"],
)
def test_problems_of_the_function_are_reported(
    columns: str, options: dict[str, str], field: str, value: str
) -> None:
    with pytest.raises(InvalidRequest) as error:
        validate_schema(given_schema(columns, options=options))

    (problem,) = error.value.problems
    assert (problem.field, problem.value) == (field, value)
    assert value != "acme.capd" or "did you mean `acme.capped`?" in str(problem.hint)


def test_a_name_without_a_dot_is_refused_with_a_hint() -> None:
    schema = given_schema("k INT, v INT", options={**AGGREGATION, FUNCTION: "undotted"})

    with pytest.raises(InvalidRequest) as error:
        validate_schema(schema)

    (problem,) = error.value.problems
    assert "needs a dot" in str(problem.hint)
    assert "undotted" not in known_functions()


def test_a_broken_package_is_an_unsupported_feature() -> None:
    schema = given_schema("k INT, v INT", options={**AGGREGATION, FUNCTION: "acme.broken"})

    with pytest.raises(UnsupportedFeature, match="cannot be loaded"):
        validate_schema(schema)


def test_a_declaration_names_them_too() -> None:
    """Nothing says that it is order-free, so a sequence group asks for a word."""
    capped = column("v", "INT", "acme.capped", options={"cap": "3"})

    assert check_table("shop", "t", grouped(capped, unordered="allowed")) == []
    (problem,) = check_table("shop", "t", grouped(capped))
    assert "depends on the order" in problem.message
    broken = column("v", "INT", "acme.broken")
    (problem,) = check_table("shop", "t", grouped(broken, unordered="allowed"))
    assert problem.pointer == "/columns/2/aggregate/function"
    assert "cannot be loaded" in problem.message


def test_failing_checks_of_the_function_are_reported_with_their_error() -> None:
    schema = given_schema("k INT, v INT", options={**AGGREGATION, "fields.v.cap": "unlucky"})

    with pytest.raises(InvalidRequest) as refused:
        validate_schema(schema)

    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == (FUNCTION, "acme.capped")
    assert "KeyError: 'unlucky'" in problem.message
