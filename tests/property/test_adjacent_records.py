"""Merging adjacent records first, where that is allowed, has the result of merging all at once."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from braid.lake import Machine
from braid.lake.errors import SchemaMismatch
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from braid.lake.lsm.level_0_merge import can_merge_adjacent
from braid.lake.merge.fold import drop_retracts, fold
from braid.lake.merge.spec import MergeSpec, merge_spec
from braid.lake.options.table_options import MergeEngine
from tests.property.declarations import draw_declaration
from tests.property.function_columns import BY_NAME
from tests.property.histories import History, Shape, draw_history
from tests.property.same_values import comparable
from tests.property.strategies import histories

ENGINES = ("deduplicate", "partial-update", "aggregation")
FUNCTIONS = sorted(set(BY_NAME) - {"first_not_null_value"})


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)
@given(histories(engines=ENGINES), st.sampled_from(Machine), st.data())
def test_adjacent_records_merged_first_give_the_same_rows(
    history: History, machine: Machine, data: st.DataObject
) -> None:
    assume(can_merge_adjacent(history.spec))
    begin = data.draw(st.integers(0, len(history.rows) - 1), label="begin")
    end = data.draw(st.integers(begin + 1, len(history.rows)), label="end")
    minds_kinds = history.spec.engine is not MergeEngine.DEDUPLICATE
    history = with_adds(history, begin, end) if minds_kinds else history

    assert shows(history, begin, end, machine) in (False, None)


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_that_is_let_in_shows(name: str, engine: str) -> None:
    """One key, few records: where a function has a weakness it comes out at once."""
    for history, begin, end in small_histories(name, engine, count=150, where=can_merge_adjacent):
        assert shows(history, begin, end, Machine.ROW) in (False, None)


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("listagg", "partial-update"),
        ("last_non_null_value", "partial-update"),
        ("first_value", "partial-update"),
        ("sum", "aggregation"),
        ("product", "aggregation"),
    ],
)
def test_every_excluded_case_has_a_history_whose_result_differs(name: str, engine: str) -> None:
    """Without examples the test above would prove nothing."""
    assert any(
        shows(history, begin, end, Machine.ROW)
        for history, begin, end in small_histories(name, engine, count=600, where=is_excluded)
    )


def test_retracts_among_neighbours_do_show() -> None:
    assert any(
        shows(with_removals(history), begin, end, Machine.ROW)
        for history, begin, end in small_histories(
            "last_value", "partial-update", count=600, where=can_merge_adjacent
        )
    )


def is_excluded(spec: MergeSpec) -> bool:
    return not can_merge_adjacent(spec) and not spec.sequence_fields


def small_histories(
    name: str, engine: str, *, count: int, where: Callable[[MergeSpec], bool]
) -> Iterator[tuple[History, int, int]]:
    """Yield histories of one key in tables with a function, and the neighbours to merge, adds.

    Of `count` tables those whose merging is as asked for.
    """
    chance = random.Random(7)
    for seed in range(count):
        table = draw_declaration(chance, engines=(engine,), functions=(BY_NAME[name],))
        shape = Shape(row_count=chance.randint(3, 6), key_values=1, null_share=0.4)
        begin = chance.randint(0, shape.row_count - 2)
        end = chance.randint(begin + 2, shape.row_count)
        if where(merge_spec(table.schema)):
            yield draw_history(table, shape, np.random.default_rng(seed)), begin, end


def shows(history: History, begin: int, end: int, machine: Machine) -> bool | None:
    """Return whether it shows that some records were merged first; None if they cannot be."""
    records = history.records.sort_by(SEQUENCE_NUMBER)
    try:
        whole = fold(records, history.spec, machine=machine)
        merged = fold(records.slice(begin, end - begin), history.spec, machine=machine)
        parts = [records.slice(0, begin), merged, records.slice(end)]
        found = fold(pa.concat_tables(parts), history.spec, machine=machine)
    except SchemaMismatch:
        return None
    return visible(found, history) != visible(whole, history)


def with_adds(history: History, begin: int, end: int) -> History:
    """Return the history with numbers that ascend, and no retracts between two positions."""
    kinds = history.kinds.to_numpy().copy()
    kinds[begin:end] = RowKind.INSERT
    numbers = np.sort(history.sequence_numbers.to_numpy())
    return replace(history, kinds=pa.array(kinds), sequence_numbers=pa.array(numbers))


def with_removals(history: History) -> History:
    """Return the history with every other record a -D."""
    kinds = [RowKind.DELETE if i % 2 else RowKind.INSERT for i in range(len(history.rows))]
    return replace(history, kinds=pa.array(kinds, pa.int8()))


def visible(records: pa.Table, history: History) -> list[str]:
    """Return what readers see."""
    rows = drop_retracts(records).drop_columns([SEQUENCE_NUMBER, VALUE_KIND])
    return sorted(comparable(rows, history.table))
