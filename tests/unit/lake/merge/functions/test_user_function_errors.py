"""Errors of a user's function name function, column and the Python error."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.merge.fold import Machine
from braid.lake.merge.functions.extension import GROUP, reset_installed_functions
from braid.lake.table.catalog import Catalog
from braid.lake.table.table import Table

BOTH = pytest.mark.parametrize("machine", list(Machine))
PACKAGE = """
import numpy as np
import pyarrow as pa
from braid.lake.aggregates import FunctionDeclaration, Pick, Reduced, Reduction

class Sum:
    def reset(self): pass
    def aggregate(self, accumulated, value):
        return value if accumulated is None else accumulated + value
    def aggregate_late(self, accumulated, value):
        return self.aggregate(accumulated, value)
    def retract(self, accumulated, value):
        return accumulated - value

class Raises(Sum):
    def aggregate(self, accumulated, value):
        if accumulated is not None:
            raise KeyError("boom")
        return value

class Text(Sum):
    def aggregate(self, accumulated, value):
        return "text"

class Huge(Sum):
    def aggregate(self, accumulated, value):
        return 1 << 70

class Fixed(Sum):
    def __init__(self, value): self.value = value
    def aggregate(self, accumulated, value):
        return value if accumulated is None else self.value

class Exits(Sum):
    def aggregate(self, accumulated, value):
        raise SystemExit("bye")

class NoRetract(Sum):
    retract = None

FIXED = {
    "half": 1.5, "long": "abcdef", "wide": b"abcdef", "never": -1, "someday": 10**9,
    "holes": [None], "uncounted": [("a", None)], "halves": [(1, 0.5)],
}

def declared(name, make=lambda function, kind: Sum(), reduce=None, **others):
    if reduce is not None:
        others["reduction"] = lambda function, kind: Reduction(reduce=reduce)
    return FunctionDeclaration(
        name=f"acme.{name}", summary="A sum.", accepts=lambda kind: True, accepted="any type",
        null_rule="ignored", late_rule="as any other", retract_rule=None, make=make, **others)

def boom(*arguments):
    raise KeyError("boom")

def one_value(steps, column):
    return Reduced(values=pa.array([1], column.type))

def other_type(steps, column):
    return Reduced(values=pa.array(["a"] * steps.segments.count))

def odd_picks(steps, column):
    return Reduced(values=Pick(rows=np.full(steps.segments.count, 99)))

def odd_undecided(steps, column):
    return Reduced(values=Pick(rows=steps.segments.last_rows), undecided=[0])

functions = {
    "raises": declared("raises", lambda function, kind: Raises()),
    "text": declared("text", lambda function, kind: Text()),
    "huge": declared("huge", lambda function, kind: Huge()),
    "unmade": declared("unmade", boom),
    "nothing": declared("nothing", lambda function, kind: None),
    "exits": declared("exits", lambda function, kind: Exits()),
    **{name: declared(name, lambda function, kind, value=value: Fixed(value))
       for name, value in FIXED.items()},
    "no_retract": declared("no_retract", lambda function, kind: NoRetract()),
    "reduction_boom": declared("reduction_boom", reduction=boom),
    "reduction_kind": declared("reduction_kind", reduction=lambda function, kind: "vector"),
    "reduce_boom": declared("reduce_boom", reduce=boom),
    "one_value": declared("one_value", reduce=one_value),
    "other_type": declared("other_type", reduce=other_type),
    "not_reduced": declared("not_reduced", reduce=lambda steps, column: column),
    "odd_picks": declared("odd_picks", reduce=odd_picks),
    "odd_undecided": declared("odd_undecided", reduce=odd_undecided),
}
globals().update(functions)
"""
NAMES = (
    "raises text huge unmade nothing no_retract reduction_boom reduction_kind reduce_boom one_value "
    "other_type not_reduced odd_picks odd_undecided exits half long wide never someday holes "
    "uncounted halves"
)


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    metadata = tmp_path / "acme_errors-1.0.dist-info"
    metadata.mkdir()
    (tmp_path / "acme_errors.py").write_text(PACKAGE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme_errors\nVersion: 1.0\n")
    points = "\n".join(f"acme.{name} = acme_errors:{name}" for name in NAMES.split())
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    reset_installed_functions()
    yield
    reset_installed_functions()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


def given_table(
    warehouse: Path, function: str, *, kind: str = "BIGINT", values: Sequence[Any] = (1, 2)
) -> Table:
    """A table of two keys with a record each in two commits; merging is left to the reader."""
    options = {
        "bucket": "1",
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": f"acme.{function}",
    }
    columns = [("k", "INT"), ("v", kind)]
    table = Catalog(str(warehouse)).create_table(
        "shop.orders", columns=columns, primary_key=["k"], options=options
    )
    arrow_type = table.schema.arrow_schema.field("v").type
    for value in values:
        table.write_and_commit(pa.table({"k": [1, 2], "v": pa.array([value, value], arrow_type)}))
    return table


def refused(table: Table, machine: Machine) -> SchemaMismatch:
    with pytest.raises(SchemaMismatch) as caught:
        table.scan(machine=machine).to_arrow()
    return caught.value


def causes(error: BaseException) -> list[BaseException]:
    found = [error]
    while found[-1].__cause__ is not None:
        found.append(found[-1].__cause__)
    return found


@BOTH
@pytest.mark.parametrize(
    ("function", "message", "cause"),
    [
        ("raises", "`aggregate` raises KeyError: 'boom'", KeyError),
        ("text", "raises ArrowInvalid", pa.ArrowInvalid),
        ("huge", "raises OverflowError", OverflowError),
        ("unmade", "`make` raises KeyError: 'boom'", KeyError),
        ("nothing", "raises AttributeError: 'NoneType'", AttributeError),
        ("exits", "`aggregate` raises SystemExit: bye", SystemExit),
    ],
)
def test_errors_of_the_definition_name_function_and_column(
    warehouse: Path, machine: Machine, function: str, message: str, cause: type[BaseException]
) -> None:
    error = refused(given_table(warehouse, function), machine)

    (problem,) = error.problems
    assert problem.field == "v"
    assert f"`acme.{function}`" in problem.message
    assert message in problem.message
    assert isinstance(causes(error)[-1], cause)


@BOTH
@pytest.mark.parametrize(
    ("function", "kind", "values", "message"),
    [
        ("half", "BIGINT", [1, 2], "it returns 1.5 where int64 needs a whole number"),
        ("half", "DATE", [1, 2], "it returns 1.5 where date32[day] needs a whole number"),
        ("long", "VARCHAR(2)", ["a", "b"], "it returns abcdef: the value does not fit"),
        ("wide", "VARBINARY(2)", [b"a", b"b"], "the limit is 2 bytes"),
        ("never", "TIME(3)", [1, 2], "it returns -1: the value does not fit"),
        ("someday", "DATE", [1, 2], "expected a year from 1 to 9999"),
        ("holes", "ARRAY<INT NOT NULL>", [[1], [2]], "it returns null: v.element is NOT NULL"),
        ("uncounted", "MULTISET<STRING>", [[("a", 1)], [("b", 1)]], "v.value is NOT NULL"),
        ("halves", "MAP<INT, INT>", [[(1, 1)], [(2, 2)]], "it returns 0.5 where"),
    ],
)
def test_a_result_that_could_not_be_written_is_refused(
    warehouse: Path, machine: Machine, function: str, kind: str, values: list[Any], message: str
) -> None:
    table = given_table(warehouse, function, kind=kind, values=values)

    (problem,) = refused(table, machine).problems

    assert problem.field == "v"
    assert f"`acme.{function}`" in problem.message
    assert message in problem.message
    with pytest.raises(SchemaMismatch, match=f"acme.{function}"):
        table.compact()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("reduction_boom", "`reduction` raises KeyError: 'boom'"),
        ("reduction_kind", "`reduction` returns a str, not a Reduction or None"),
        ("reduce_boom", "its reduction raises KeyError: 'boom'"),
        ("one_value", "its reduction returns 1 values for 2 keys"),
        ("other_type", "values of type string for a column of int64"),
        ("not_reduced", "Array, not a Reduced"),
        ("odd_picks", "picks outside of the column's rows"),
        ("odd_undecided", "`undecided` with numbers that are not segments in ascending order"),
    ],
)
def test_errors_of_the_reduction_are_reported_and_the_definition_still_works(
    warehouse: Path, function: str, message: str
) -> None:
    table = given_table(warehouse, function)

    (problem,) = refused(table, Machine.COLUMN).problems

    assert problem.field == "v"
    assert f"`acme.{function}`" in problem.message
    assert message in problem.message
    assert table.scan(machine=Machine.ROW).to_arrow()["v"].to_pylist() == [3, 3]


@BOTH
def test_a_method_that_cannot_be_called_is_reported(warehouse: Path, machine: Machine) -> None:
    table = given_table(warehouse, "no_retract")
    table.write_and_commit(pa.table({"k": [1], "v": [1]}), kinds=pa.array([3], pa.int8()))

    (problem,) = refused(table, machine).problems

    assert "`retract` raises TypeError" in problem.message


def test_a_compaction_fails_the_same_way_and_commits_nothing(warehouse: Path) -> None:
    table = given_table(warehouse, "raises")
    newest = table.latest_snapshot()

    with pytest.raises(SchemaMismatch, match=r"acme\.raises"):
        table.compact()

    assert table.latest_snapshot() == newest
