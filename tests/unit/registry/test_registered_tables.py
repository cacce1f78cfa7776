"""Registered tables give the same rows after any schedule of writes and compactions."""

from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, Machine, ManualClock, MemoryFileIO, Table, TableWriter
from braid.registry.layout.physical_table import physical_table
from braid.schemas import TableSpec
from tests.unit.registry.shop import orders


def given_table(spec: TableSpec) -> Table:
    defined = physical_table(spec)
    return Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock()).create_table(
        "shop.orders",
        columns=list(defined.columns),
        primary_key=list(defined.primary_key),
        options=defined.options,
    )


def written(table: Table, *records: dict[str, Any]) -> TableWriter:
    """Return a writer that has given the records their sequence numbers."""
    names = table.schema.field_names
    rows = [{"id": 1, "region": "eu"} | record for record in records]
    writer = table.writer()
    writer.write(
        pa.Table.from_pylist(
            [{name: row.get(name) for name in names} for row in rows],
            schema=table.schema.arrow_schema,
        )
    )
    return writer


def commit(table: Table, writer: TableWriter) -> None:
    table.committer().commit(writer.prepare_commit().messages, commit_user="u")


def row(table: Table) -> dict[str, Any]:
    found = table.get({"id": 1, "region": "eu"})
    assert found is not None
    return found


@pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
def test_of_two_equal_ordering_values_the_later_record_stays(machine: Machine) -> None:
    """Another stream commits between the two, and a compaction makes one row of both streams."""
    table = given_table(orders(buckets=1))
    place = {"order_version": 5, "sales__partition": 0}
    commit(table, written(table, {"currency": "first", "sales__offset": 1} | place))
    correction = written(table, {"currency": "correction", "sales__offset": 2} | place)
    paid = [
        {"id": key, "method": "card", "payments__offset": key, "payments__partition": 0}
        for key in (9, 8, 7, 1)
    ]
    commit(table, written(table, *paid))
    table.compact(full=True, machine=machine)

    commit(table, correction)

    assert row(table)["currency"] == "correction"
    table.compact(full=True, machine=machine)
    assert row(table)["currency"] == "correction"


@pytest.mark.parametrize("compacts", [False, True], ids=["as-written", "compacted"])
def test_columns_that_were_cleared_are_so_in_any_order_of_arrival(*, compacts: bool) -> None:
    groups = [{"name": "sales", "ordering": ["v"], "columns": ["x", "kind"]}]
    spec = TableSpec.model_validate(
        {
            "columns": [
                {"name": "id", "type": "BIGINT"},
                {"name": "region", "type": "STRING"},
                {"name": "v", "type": "INT"},
                {"name": "x", "type": "STRING"},
                {"name": "kind", "type": "STRING"},
            ],
            "primary_key": ["id", "region"],
            "buckets": 1,
            "sequence_groups": groups,
            "deletes": "clear_columns",
            "options": {"rowkind.field": "kind"},
        }
    )
    records = [
        {"v": version, "x": text, "kind": kind, "sales__offset": version, "sales__partition": 0}
        for version, text, kind in ((1, "one", "+I"), (3, "three", "+I"), (5, "gone", "-D"))
    ]
    for order in permutations(records):
        table = given_table(spec)
        for record in order:
            commit(table, written(table, record))
            if compacts:
                table.compact(full=True)
        versions = [record["v"] for record in order]
        assert (row(table)["v"], row(table)["x"], versions) == (5, None, versions)
