"""Kinds come beside the rows or out of a column, and are checked either way."""

import pyarrow as pa
import pytest

from lake.errors import SchemaMismatch
from lake.write.row_kinds import row_kinds
from tests.given_tables import GivenTable, given_rows, given_schema

COLUMNS = {"k": "INT", "rk": "STRING"}
PLAIN = given_schema(COLUMNS, key=["k"])
IN_COLUMN = given_schema(COLUMNS, key=["k"], options={"rowkind.field": "rk"})


def test_rows_are_inserts_unless_said_otherwise() -> None:
    rows = given_rows(PLAIN, [[1, "-D"], [2, None]])

    assert row_kinds(rows, None, PLAIN).equals(pa.array([0, 0], pa.int8()))
    assert row_kinds(rows, pa.array([3, 1]), PLAIN).equals(pa.array([3, 1], pa.int8()))


def test_a_column_says_the_kind_whatever_is_given_beside() -> None:
    rows = given_rows(IN_COLUMN, [[1, "+I"], [2, "-U"], [3, "+U"], [4, "-D"]])
    expected = pa.array([0, 1, 2, 3], pa.int8())

    assert row_kinds(rows, None, IN_COLUMN).equals(expected)
    assert row_kinds(rows, pa.array([3, 3, 3, 3]), IN_COLUMN).equals(expected)
    assert row_kinds(rows.slice(0, 0), None, IN_COLUMN).equals(pa.array([], pa.int8()))


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
