"""Scans return the same rows, however a table separates compacted rows from those they replace."""

import operator
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake.merge.fold import Machine
from tests.given_tables import GivenTable, given_schema

SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
VECTORS = {**SUM, "deletion-vectors.enabled": "true"}
ON_READ = {**VECTORS, "deletion-vectors.merge-on-read": "true"}
LOOKUP = {**SUM, "changelog-producer": "lookup"}
OPERATORS = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}

ROWS = st.dictionaries(st.integers(0, 7), st.integers(-5, 5), max_size=8)
LEVELS = st.dictionaries(st.sampled_from([2, 3, 5]), ROWS.filter(bool), min_size=1)
CONDITIONS = st.tuples(
    st.sampled_from(["k", "v"]), st.sampled_from(sorted(OPERATORS)), st.integers(-5, 8)
)

Rows = dict[int, int]


def given_table(
    options: Mapping[str, str], levels: Mapping[int, Rows], waiting: list[Rows]
) -> GivenTable:
    """Return a table with a file for each level and for each commit that waits on level 0."""
    schema = given_schema({"k": "INT", "v": "INT"}, key=["k"], options=options)
    table = GivenTable(schema=schema)
    # A higher level is an older one.
    for number, level in enumerate(sorted(levels, reverse=True)):
        table.write(*sorted(levels[level].items()))
        table.move(number, level)
    for rows in waiting:
        table.write(*sorted(rows.items()))
    return table


def mark_replaced(table: GivenTable, levels: Mapping[int, Rows], removed: frozenset[int]) -> None:
    """Mark what a lower level replaces, and all rows of keys that were removed."""
    marked: dict[int, list[int]] = {}
    for number, level in enumerate(sorted(levels, reverse=True)):
        newer = {key for lower in levels if lower < level for key in levels[lower]}
        gone = newer | removed
        positions = [place for place, key in enumerate(sorted(levels[level])) if key in gone]
        if positions:
            marked[number] = positions
    if marked:
        table.mark(marked)


def compacted_rows(levels: Mapping[int, Rows]) -> Rows:
    """Return the row of the lowest level of each key."""
    return {
        key: value for level in sorted(levels, reverse=True) for key, value in levels[level].items()
    }


@pytest.mark.parametrize("machine", list(Machine))
@settings(
    max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    levels=LEVELS,
    waiting=st.lists(ROWS.filter(bool), max_size=2),
    removed=st.frozensets(st.integers(0, 7), max_size=3),
    where=st.none() | CONDITIONS,
    batch_rows=st.integers(1, 9),
)
def test_marked_and_passed_over_rows_are_the_same_rows(
    levels: Mapping[int, Rows],
    waiting: list[Rows],
    removed: frozenset[int],
    where: tuple[str, str, int] | None,
    batch_rows: int,
    machine: Machine,
) -> None:
    conditions = () if where is None else (where,)

    def matching(rows: Rows) -> list[tuple[int, int]]:
        return sorted(
            row
            for row in rows.items()
            if where is None or OPERATORS[where[1]](row["kv".index(where[0])], where[2])
        )

    def read(
        options: Mapping[str, str], *, removing: frozenset[int] = frozenset()
    ) -> list[tuple[int, int]]:
        table = given_table(options, levels, waiting)
        if options is not LOOKUP:
            mark_replaced(table, levels, removing)
        rows = table.read(*conditions, batch_rows=batch_rows, machine=machine)
        return sorted((int(str(key)), int(str(value))) for key, value in rows)

    compacted = compacted_rows(levels)
    summed = dict(compacted)
    left = {key: value for key, value in compacted.items() if key not in removed}
    summed_left = dict(left)
    for rows in waiting:
        for key, value in rows.items():
            summed[key] = summed.get(key, 0) + value
            summed_left[key] = summed_left.get(key, 0) + value

    assert read(LOOKUP) == matching(summed)
    assert read(ON_READ) == matching(summed)
    assert read(ON_READ, removing=removed) == matching(summed_left)
    assert read(VECTORS) == matching(compacted)
    assert read(VECTORS, removing=removed) == matching(left)
