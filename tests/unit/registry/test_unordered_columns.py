"""A column that may be unordered, beside a sequence group, in a table of the engine."""

from typing import Any

import pyarrow as pa

from braid.lake import Table
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import TableSpec
from tests.unit.records.given_streams import given_table

SPEC = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "version", "type": "INT"},
            {"name": "total", "type": "INT"},
            {"name": "seen", "type": "STRING", "unordered": "allowed"},
        ],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "s", "ordering": ["version"], "columns": ["total"]}],
        "tracking": False,
    }
)


def write(table: Table, **values: Any) -> None:
    row = dict.fromkeys(table.schema.field_names) | {"id": 1, **values}
    columns = {name: [value] for name, value in row.items()}
    table.write_and_commit(pa.table(columns))


def test_a_late_record_sets_the_unordered_column_and_nothing_of_the_group() -> None:
    assert check_table("db", "t", SPEC) == []
    table = given_table(SPEC)
    write(table, version=2, total=20, seen="first")
    write(table, version=1, total=10, seen="second")
    write(table, version=None, total=None, seen=None)

    found = []
    for _ in range(2):
        row = table.get({"id": 1})
        assert row is not None
        found.append((row["version"], row["total"], row["seen"]))
        table.compact()

    assert found == [(2, 20, "second")] * 2
