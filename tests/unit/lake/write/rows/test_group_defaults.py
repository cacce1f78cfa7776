"""A default in a sequence group is filled only into records that take part in the group."""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, Table, UpdateColumnDefault

BY_GROUP = {"braid.defaults-by-group": "true"}


def table_of(**options: str) -> Table:
    table = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock()).create_table(
        "d.t",
        columns=[
            ("k", "INT"),
            ("sent", "INT"),
            ("parcels", "INT"),
            ("tags", "STRING"),
            ("paid", "INT"),
            ("amount", "INT"),
        ],
        primary_key=["k"],
        options={
            "bucket": "1",
            "merge-engine": "partial-update",
            "fields.sent.sequence-group": "parcels,tags",
            "fields.paid.sequence-group": "amount",
            "fields.parcels.aggregate-function": "sum",
            **options,
        },
    )
    table.alter(
        UpdateColumnDefault(path=("parcels",), default_value="1"),
        UpdateColumnDefault(path=("tags",), default_value="new"),
    )
    return table


def shown(table: Table) -> list[tuple[Any, Any, Any]]:
    rows = table.scan(columns=["k", "parcels", "tags"]).to_arrow().to_pylist()
    return [tuple(row.values()) for row in rows]


@pytest.mark.parametrize(
    ("options", "of_others"), [(BY_GROUP, (None, None)), ({}, (1, "new"))], ids=["own", "format"]
)
def test_another_streams_record_brings_no_default_along(
    options: dict[str, str], of_others: tuple[Any, Any]
) -> None:
    table = table_of(**options)

    table.write_and_commit(pa.table({"k": [1, 2], "paid": [1, 1], "amount": [5, 5]}))
    table.write_and_commit(pa.table({"k": [1, 3], "sent": [1, 1], "parcels": [None, 4]}))

    assert shown(table) == [(1, 1, "new"), (2, *of_others), (3, 4, "new")]
    table.compact(full=True)
    assert shown(table) == [(1, 1, "new"), (2, *of_others), (3, 4, "new")]
