"""Row kinds come beside the rows or from a column, and are checked either way."""

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.write.rows.row_kinds import row_kinds
from tests.given_tables import GivenTable, given_rows, given_schema

COLUMNS = {"k": "INT", "rk": "STRING"}
PLAIN = given_schema(COLUMNS, key=["k"])
IN_COLUMN = given_schema(COLUMNS, key=["k"], options={"rowkind.field": "rk"})


def test_rows_are_inserts_unless_said_otherwise() -> None:
    rows = given_rows(PLAIN, [[1, "-D"], [2, None]])

    assert row_kinds(rows, None, PLAIN).equals(pa.array([0, 0], pa.int8()))
    assert row_kinds(rows, pa.array([3, 1]), PLAIN).equals(pa.array([3, 1], pa.int8()))


def test_a_column_holds_the_row_kinds() -> None:
    rows = given_rows(IN_COLUMN, [[1, "+I"], [2, "-U"], [3, "+U"], [4, "-D"]])
    expected = pa.array([0, 1, 2, 3], pa.int8())

    assert row_kinds(rows, None, IN_COLUMN).equals(expected)
    assert row_kinds(rows.slice(0, 0), None, IN_COLUMN).equals(pa.array([], pa.int8()))


def test_kinds_beside_a_column_of_kinds_are_refused() -> None:
    rows = given_rows(IN_COLUMN, [[1, "+I"]])

    with pytest.raises(SchemaMismatch, match=r"kinds: the row kinds .* in its column `rk`"):
        row_kinds(rows, pa.array([3]), IN_COLUMN)


FIRST_ROW = {"merge-engine": "first-row"}


@pytest.mark.parametrize(
    ("options", "kinds", "refused"),
    [
        ({}, [0, 3], "row 1: first-row .* accepts no retract .found `-D`"),
        ({}, [1, 3], "row 0: first-row .* accepts no retract .found `-U`"),
        ({"ignore-update-before": "true"}, [1, 3], "row 1: .* .found `-D`"),
        ({"ignore-update-before": "true"}, [1, 2], None),
        ({"ignore-delete": "true"}, [1, 3], None),
        ({"first-row.ignore-delete": "true"}, [1, 3], None),
        ({}, [0, 2], None),
    ],
)
def test_a_retract_that_first_row_could_never_merge_is_refused(
    options: dict[str, str], kinds: list[int], refused: str | None
) -> None:
    schema = given_schema(COLUMNS, key=["k"], options=FIRST_ROW | options)
    rows = given_rows(schema, [[1, "a"], [2, "b"]])

    if refused is None:
        assert row_kinds(rows, pa.array(kinds), schema).to_pylist() == kinds
    else:
        with pytest.raises(SchemaMismatch, match=refused) as caught:
            row_kinds(rows, pa.array(kinds), schema)
        assert "`ignore-delete`" in str(caught.value.problems[0].hint)


def test_a_retract_out_of_a_column_is_refused_too() -> None:
    schema = given_schema(COLUMNS, key=["k"], options=FIRST_ROW | {"rowkind.field": "rk"})
    rows = given_rows(schema, [[1, "+I"], [2, "-D"]])

    with pytest.raises(SchemaMismatch, match="rk: row 1: first-row"):
        row_kinds(rows, None, schema)


@pytest.mark.parametrize("text", ["xx", "", "+i", None])
def test_a_text_that_is_no_kind_is_refused_with_its_row(text: str | None) -> None:
    rows = given_rows(IN_COLUMN, [[1, "+I"], [2, text]])

    with pytest.raises(SchemaMismatch, match="row 1: the column holds the row kind") as caught:
        row_kinds(rows, None, IN_COLUMN)

    assert caught.value.problems[0].field == "rk"


def test_a_delete_out_of_a_column_hides_its_key() -> None:
    table = GivenTable(schema=IN_COLUMN)
    table.write([1, "+I"], [2, "+I"])
    table.write([1, "-D"])

    assert table.read() == [(2, "+I")]
