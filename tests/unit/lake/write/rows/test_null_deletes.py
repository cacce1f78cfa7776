"""Deletes without values: the records that are written, and the rows that are read afterwards."""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    Table,
    UpdateColumnDefault,
)
from braid.lake.write.rows.null_deletes import apply_null_deletes
from tests.given_tables import given_rows, given_schema

COLUMNS = {
    "k": "INT",
    "g": "INT",
    "a": "STRING",
    "b": "ARRAY<INT>",
    "at": "TIMESTAMP(3)",
    "op": "STRING",
    "h": "INT",
    "c": "STRING",
    "loose": "STRING",
}
OPTIONS = {
    "merge-engine": "partial-update",
    "fields.g.sequence-group": "a,b,at,op",
    "fields.h.sequence-group": "c",
    "braid.null-deletes": "g",
    "braid.null-deletes.kept-fields": "at",
    "braid.null-deletes.mark-fields": "op",
}
AT = 1_000
BOTH = {"braid.null-deletes": "g,h"}
REMOVING = {"partial-update.remove-record-on-sequence-group": "g"}


def stored(rows: list[list[Any]], kinds: list[int], **options: str) -> list[Any]:
    """Return kinds and rows as they are written."""
    schema = given_schema(COLUMNS, key=["k"], options=OPTIONS | options)
    given = given_rows(schema, rows)
    found, found_kinds = apply_null_deletes(given, pa.array(kinds, pa.int8()), schema)
    assert found.schema == given.schema
    times = found.column("at").cast(pa.timestamp("ms")).cast(pa.int64())
    found = found.set_column(4, "at", times)
    return [
        [kind, *row.values()]
        for kind, row in zip(found_kinds.to_pylist(), found.to_pylist(), strict=True)
    ]


ADD = [1, 1, "x", [1], AT, "upsert", None, None, "l"]
OF_G = [2, 5, "x", [1], AT, "upsert", None, "junk", "l"]
OF_H = [3, None, "x", [1], AT, "upsert", 7, "y", "l"]
OF_BOTH = [4, 5, "x", [1], None, "upsert", 7, "y", "l"]
OF_NONE = [5, None, "x", [1], None, "upsert", None, "y", "l"]


@pytest.mark.parametrize(
    ("row", "kind", "options", "expected"),
    [
        pytest.param(OF_G, 3, {}, [0, 2, 5, None, None, AT, "clear", None, None, None], id="-D"),
        pytest.param(OF_G, 1, {}, [0, 2, 5, None, None, AT, "clear", None, None, None], id="-U"),
        pytest.param(
            OF_H, 3, {}, [3, 3, None, None, None, AT, None, 7, "y", None], id="another-group"
        ),
        pytest.param(
            OF_BOTH, 3, {}, [3, 4, 5, None, None, None, None, 7, "y", None], id="and-another-group"
        ),
        pytest.param(
            OF_BOTH, 3, BOTH, [0, 4, 5, None, None, None, "clear", 7, None, None], id="both-groups"
        ),
        pytest.param(
            OF_NONE, 3, {}, [3, 5, None, None, None, None, None, None, None, None], id="no-order"
        ),
        pytest.param(
            OF_G, 3, REMOVING, [3, 2, 5, None, None, AT, None, None, None, None], id="removal"
        ),
    ],
)
def test_a_delete_carries_its_order_and_no_values(
    row: list[Any], kind: int, options: dict[str, str], expected: list[Any]
) -> None:
    kept = [0, 1, 1, "x", [1], AT, "upsert", None, None, "l"]

    assert stored([ADD, row, ADD], [0, kind, 0], **options) == [kept, expected, kept]


def table_of(**options: str) -> Table:
    columns = [("k", "INT"), ("g", "INT"), ("a", "STRING"), ("b", "STRING"), ("op", "STRING")]
    own = {"braid.null-deletes": "g", "braid.null-deletes.mark-fields": "op"}
    declared = {
        "bucket": "1",
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "a,b,op",
    }
    catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
    return catalog.create_table(
        "d.t", columns=columns, primary_key=["k"], options=declared | own | options
    )


def test_a_clear_takes_no_default_value() -> None:
    table = table_of()
    table.alter(UpdateColumnDefault(path=("a",), default_value="unknown"))
    rows = pa.table({"k": [1, 2], "g": [1, 1]})

    table.write_and_commit(rows, kinds=pa.array([0, 3], pa.int8()))

    assert table.scan(columns=["k", "a", "op"]).to_arrow().to_pylist() == [
        {"k": 1, "a": "unknown", "op": None},
        {"k": 2, "a": None, "op": "clear"},
    ]


def test_values_of_a_removed_row_do_not_come_back() -> None:
    table = table_of(**REMOVING)
    for value, text, kind in ((1, "one", 0), (2, "two", 3)):
        row = pa.table({"k": [1], "g": [value], "a": [text], "b": [text]})
        table.write_and_commit(row, kinds=pa.array([kind], pa.int8()))
    assert table.get({"k": 1}) is None

    table.write_and_commit(
        pa.table({"k": [1], "a": ["x"]})
    )  # without an ordering value: it takes no part in the group

    assert table.get({"k": 1}) == {"k": 1, "g": 2, "a": None, "b": None, "op": None}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"braid.null-deletes": "nope"}, "not an ordering column"),
        ({"braid.null-deletes.kept-fields": "nope"}, "no such column"),
        (
            {"braid.null-deletes.kept-fields": "k"},
            "the column is in no sequence group whose ordering columns",
        ),
        ({"fields.a.aggregate-function": "max"}, "retracts none"),
    ],
)
def test_impossible_options_are_refused_when_they_are_declared(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        table_of(**options)
