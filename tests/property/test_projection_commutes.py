"""A projected, filtered or keyed read equals the same thing done to the full read, at every snapshot.

Merging needs columns that a projection leaves out (ordering columns, the key), and conditions must not reach
the versions of a row before they are merged: the two ways in which such reads go wrong elsewhere.
"""

import random
from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake import Condition, SchemaMismatch, Table
from braid.lake.read.lookup.python_rows import python_rows
from tests.conformance.case import Case, Step, parse_case
from tests.conformance.execute import create_table, kinds_array, rows_table
from tests.interop.generators import deduplicate_case, partial_update_case, sequence_group_case
from tests.interop.random_tables import random_case
from tests.property.declarations import ENGINES
from tests.property.function_columns import FUNCTION_COLUMNS

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


def any_case(case_id: str, seed: int) -> dict[str, Any]:
    """Return a table of any engine and functions, with deletes and compactions in between."""
    engine = random.Random(seed).choice(ENGINES)
    return random_case(case_id, seed, engine=engine, functions=FUNCTION_COLUMNS)


seeds = st.integers(min_value=0, max_value=2**32)
makers = st.sampled_from(
    [any_case, any_case, any_case, sequence_group_case, deduplicate_case, partial_update_case]
)
few = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(make=makers, seed=seeds)
def test_reads_of_some_columns_and_rows_agree_with_the_full_read(
    make: Callable[[str, int], dict[str, Any]], seed: int
) -> None:
    case, table, snapshots = given_history(make, seed)
    chance = random.Random(seed)
    full = {snapshot: table.scan(at=snapshot).to_arrow() for snapshot in snapshots}
    if not full:
        return

    for _ in range(8):
        snapshot = chance.choice(snapshots)
        columns = chance.sample(case.names, chance.randint(1, len(case.names)))
        where = draw_conditions(full[snapshot], chance)

        scan = table.scan(columns=columns, where=where, at=snapshot)

        expected = [row for row in full[snapshot].to_pylist() if fulfils(row, where)]
        expected_rows = [{name: row[name] for name in columns} for row in expected]
        assert scan.arrow_schema.names == columns
        assert in_any_order(scan.to_arrow().to_pylist()) == in_any_order(expected_rows), where
        assert scan.count() == len(expected)


@few
@given(make=makers, seed=seeds)
def test_a_lookup_is_the_scan_filtered_to_the_key(
    make: Callable[[str, int], dict[str, Any]], seed: int
) -> None:
    case, table, snapshots = given_history(make, seed)
    written = [row for step in case.steps for row in step.action.get("write", [])]
    keys = key_rows(rows_table(written, case.arrow_schema).select(list(case.primary_key)))

    for snapshot in snapshots:
        batches = table.scan(at=snapshot).to_batches()
        rows = [row for batch in batches for row in python_rows(batch)]
        by_key = {key_of(row, case): row for row in rows}
        assert len(by_key) == len(rows)
        for key in random.Random(seed).sample(keys, min(8, len(keys))):
            found = table.get(key, at=snapshot)

            assert in_any_order([found]) == in_any_order([by_key.get(key_of(key, case))])


def given_history(
    make: Callable[[str, int], dict[str, Any]], seed: int
) -> tuple[Case, Table, list[int]]:
    """Return a table in memory with several commits, and the ids of snapshots that can be read."""
    case = parse_case(make("property", seed))
    table = create_table(case)
    assert table is not None
    ids: set[int] = set()
    for step in case.steps:
        try:
            _do(table, case, step)
            newest = table.latest_snapshot()
            if newest is not None and table.scan().to_arrow() is not None:
                ids.add(newest.id)
        except SchemaMismatch:
            # A value that a function cannot take stays in the table, and so does the error.
            break
    return case, table, sorted(ids)


def _do(table: Table, case: Case, step: Step) -> None:
    if step.kind == "compact":
        table.compact()
        return
    rows = step.action["write"]
    table.write_and_commit(rows_table(rows, case.arrow_schema), kinds=kinds_array(rows))


def draw_conditions(rows: pa.Table, chance: random.Random) -> list[Condition]:
    """Return up to two conditions, mostly with values that occur."""
    return [_draw_condition(rows, chance) for _ in range(chance.randint(0, 2))]


def _draw_condition(rows: pa.Table, chance: random.Random) -> Condition:
    field = rows.schema.field(chance.randrange(rows.num_columns))
    occurring = [value for value in rows.column(field.name).to_pylist() if value is not None]
    # Order and equality of floating point (NaN) and nested values are another test's business.
    if pa.types.is_floating(field.type) or pa.types.is_nested(field.type) or not occurring:
        return Condition(column=field.name, op=chance.choice(["is_null", "not_null"]))
    op = chance.choice([*COMPARISONS, "in", "="])
    if op == "in":
        return Condition(column=field.name, op=op, value=chance.choices(occurring, k=2))
    return Condition(column=field.name, op=op, value=chance.choice(occurring))


def fulfils(row: dict[str, Any], where: Sequence[Condition]) -> bool:
    """Return whether all conditions hold; a comparison with null does not."""
    return all(_holds(row[condition.column], condition) for condition in where)


def _holds(value: Any, condition: Condition) -> bool:
    if condition.op == "is_null":
        return value is None
    if condition.op == "not_null" or value is None:
        return value is not None
    if condition.op == "in":
        assert isinstance(condition.value, list)
        return value in condition.value
    return COMPARISONS[condition.op](value, condition.value)


def key_rows(keys: pa.Table) -> list[dict[str, object]]:
    """Return keys as a lookup takes them."""
    return [row for batch in keys.to_batches() for row in python_rows(batch)]


def key_of(row: dict[str, Any], case: Case) -> str:
    """Return the primary key of a row as one text."""
    return repr([row[name] for name in case.primary_key])


def in_any_order(rows: Sequence[object]) -> list[str]:
    """Return rows as sorted texts, in which NaN equals NaN."""
    return sorted(map(repr, rows))
