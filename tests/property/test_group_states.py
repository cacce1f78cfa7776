"""The states of many rows, from Arrow columns, are those that `row_status` has for each row alone."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.registry.layout.physical_table import physical_groups
from braid.schemas import GroupState, SnapshotInfo, TableDocument
from braid.service.control.group_states import group_states
from braid.service.control.row_status import StatusRules, status_columns
from tests.unit.registry.shop import orders
from tests.unit.service.control.test_row_status import schema_of

NOW_MS = 1_700_000_000_000
NOW = datetime.fromtimestamp(NOW_MS / 1_000, tz=UTC)
SNAPSHOT = SnapshotInfo(id=1, commit_time=None, verified_at="")
TABLES: dict[str, dict[str, Any]] = {
    "tracked": {},
    "stale": {"staleness": {"default_seconds": 60, "groups": {"sales": 1}}},
    "cleared": {"deletes": "clear_columns", "staleness": {"default_seconds": 60}},
    "some groups": {"completeness": {"groups": ["payments"]}},
    "no tracking": {"tracking": False},
}
AGES_MS = (-5, 0, 999, 1_000, 1_001, 59_999, 60_000, 60_001, NOW_MS + 5)
VALUES: dict[str, tuple[Any, ...]] = {
    "at": tuple(NOW - timedelta(milliseconds=age) for age in AGES_MS),
    "op": ("upsert", "clear"),
    "offset": (0, 1 << 60),
    "partition": (0,),
    "order_version": (1, 2),
    "total": (Decimal(1),),
    "paid": (Decimal(1),),
    "shipped": (datetime.fromisoformat("2026-01-31"),),
}


@pytest.mark.parametrize("name", TABLES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_states_of_many_rows_are_those_of_each(name: str, data: st.DataObject) -> None:
    document = TableDocument(database="shop", name="orders", table=orders(**TABLES[name]))
    schema = schema_of(document.table)
    columns = status_columns(document, schema)
    values = {
        column: st.none() | st.sampled_from(VALUES.get(column.rpartition("__")[2], ("x",)))
        for column in columns
    }
    rows = data.draw(st.lists(st.fixed_dictionaries(values), max_size=6), label="rows")
    fields = [schema.arrow_schema.field(column) for column in columns]
    table = pa.Table.from_pylist(rows, schema=pa.schema(fields))

    found = group_states(document, schema, table, now_ms=NOW_MS)
    rules = StatusRules(document, schema)

    turn_ms = found.turns_stale_ms
    for number, row in enumerate(rows):
        states = [
            rules.status(key={}, row=row, now_ms=now_ms, snapshot=SNAPSHOT)
            for now_ms in (NOW_MS, NOW_MS if turn_ms is None else turn_ms - 1)
        ]
        for status in states:
            for group in physical_groups(document.table):
                of_row = [s for s, mask in found.masks[group.name].items() if mask[number]]
                assert of_row == [status.groups[group.name].state]
            assert bool(found.complete[number]) == status.complete
    if turn_ms is not None:
        later = group_states(document, schema, table, now_ms=turn_ms)
        assert any(
            (later.masks[group][GroupState.STALE] != masks[GroupState.STALE]).any()
            for group, masks in found.masks.items()
        )
