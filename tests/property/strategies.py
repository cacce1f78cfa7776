"""Random tables and histories for the laws of merging.

Keys, ordering values and kinds come from small domains, so that records meet, tie and arrive late
in almost every example.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from braid.lake.format.system_columns import RowKind
from tests.conformance.column_types import arrow_type
from tests.conformance.values import to_arrow, to_json
from tests.property.declarations import (
    ENGINES,
    Declaration,
    draw_declaration,
    draw_order_free_declaration,
)
from tests.property.domains import ATOMIC, Domain
from tests.property.function_columns import ORDER_FREE, FunctionColumn
from tests.property.histories import ADDS, KINDS, History, Shape, draw_history

__all__ = [
    "ADDS",
    "ATOMIC_VALUES",
    "KINDS",
    "History",
    "cuts",
    "declarations",
    "histories",
    "order_free_histories",
    "plain",
]

ORDER_FREE_ENGINES = ("deduplicate", "partial-update", "aggregation")


def _python_values(domain: Domain) -> list[object]:
    array = to_arrow(domain[1], arrow_type(domain[0]))
    if pa.types.is_temporal(array.type):
        # Python's datetime has no nanoseconds.
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return list(array.to_pylist())


# STRING and BYTES come before the types of limited length, and have the more values.
ATOMIC_VALUES: dict[pa.DataType, Sequence[object]] = {
    arrow_type(domain[0]): _python_values(domain) for domain in reversed(ATOMIC)
}
"""Values of every atomic type, as `pa.array` takes them."""


@st.composite
def declarations(draw: st.DrawFn, *, engines: Sequence[str] = ENGINES) -> Declaration:
    """Draw a table of any kind."""
    return draw_declaration(draw(_chances()), engines=engines)


@st.composite
def histories(
    draw: st.DrawFn,
    *,
    engines: Sequence[str] = ENGINES,
    kinds: Sequence[RowKind] = KINDS,
    row_count_max: int = 40,
) -> History:
    """Draw a table of any kind and records of few keys; sequence numbers in any order.

    Args:
        draw: Hypothesis.
        engines: Merge engines to choose from.
        kinds: Row kinds to choose from, adds at least.
        row_count_max: Most records.
    """
    table = draw_declaration(draw(_chances()), engines=engines)
    # Where a retract is an error most histories should get past it.
    shares = (0.0, 0.0, 0.0, 0.02) if table.refuses_retracts else (0.0, 0.1, 0.5, 0.9)
    shape = Shape(
        row_count=draw(st.integers(1, row_count_max)),
        key_values=draw(st.sampled_from([1, 2, 5])),
        null_share=draw(st.sampled_from([0.0, 0.3, 0.8])),
        retract_share=draw(st.sampled_from(shares)),
        kinds=kinds,
        breaks_not_null=True,
    )
    # A seed keeps drawing cheap; what shrinks is the table and the number of rows.
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    history = draw_history(table, shape, chance)
    if draw(st.booleans()):
        numbers = chance.permutation(history.sequence_numbers.to_numpy())
        history = replace(history, sequence_numbers=pa.array(numbers))
    return history


@st.composite
def order_free_histories(
    draw: st.DrawFn,
    *,
    engines: Sequence[str] = ORDER_FREE_ENGINES,
    functions: Sequence[FunctionColumn] = ORDER_FREE,
    row_count_max: int = 40,
) -> History:
    """Draw a table and adds for it that give the same rows in any order of arrival."""
    table = draw_order_free_declaration(draw(_chances()), engines=engines, functions=functions)
    shape = Shape(
        row_count=draw(st.integers(1, row_count_max)),
        key_values=draw(st.sampled_from([1, 2, 5])),
        null_share=draw(st.sampled_from([0.0, 0.3, 0.8])),
        kinds=ADDS,
    )
    return draw_history(table, shape, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))


@st.composite
def cuts(draw: st.DrawFn, length: int) -> list[int]:
    """Draw the bounds of consecutive pieces, some empty: 0, ..., length."""
    inner = draw(st.lists(st.integers(0, length), max_size=6))
    return [0, *sorted(inner), length]


def plain(table: pa.Table) -> list[str]:
    """Return the rows as text that tells -0.0 from 0.0, has one NaN and forgets no digit."""
    return [repr(row) for row in zip(*map(to_json, table.columns), strict=True)]


def _chances() -> st.SearchStrategy[random.Random]:
    return st.randoms(use_true_random=False)
