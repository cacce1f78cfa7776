"""Random tables to take turns on, and the rows to write to them."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.conformance.case import Case, parse_case
from tests.interop.random_tables import refuses_some_retracts
from tests.interop.twins import Rows
from tests.interop.version_differences import released, released_functions, takes_retracts
from tests.property.declarations import (
    Declaration,
    draw_declaration,
    draw_order_free_declaration,
)
from tests.property.domains import Domain
from tests.property.function_columns import ORDER_FREE, WRAPPING
from tests.property.histories import Shape, draw_history, json_rows

ROWS_OF_A_COMMIT = 8
LOOKS_UP = {("changelog-producer", "lookup"), ("deletion-vectors.enabled", "true")}
_COMPACTION_OPTIONS = {"num-sorted-run.compaction-trigger": "3", "num-levels": "4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTable:
    """A table and what is written to it.

    Attributes:
        case: Declares it.
        commits: Rows of each commit.
    """

    case: Case
    commits: list[Rows]


def any_table(name: str, *, engine: str, seed: int, rounds: int) -> GivenTable:
    """Return any table of an engine, and commits with retracts where it takes them."""
    chance = random.Random(seed)
    table = _drawn(chance, engine)
    while _orders_by_nested(table):
        table = _drawn(chance, engine)
    refuses = table.refuses_retracts or refuses_some_retracts(table) or not takes_retracts(table)
    return _given(name, table, seed, rounds, retract_share=0.0 if refuses else 0.2)


def order_free_table(
    name: str, *, engine: str, seed: int, rounds: int, options: Mapping[str, str]
) -> GivenTable:
    """Return a table whose rows do not depend on the order of arrival.

    In a first-row table they do, but on nothing else.
    """
    chance = random.Random(seed)
    table = _drawn_order_free(chance, engine)
    looks_up = engine == "first-row" or LOOKS_UP.intersection(options.items())
    is_avro = "avro" in str(options)
    while (looks_up and _has_keys_of_bytes(table)) or (is_avro and _has_nanoseconds(table)):
        table = _drawn_order_free(chance, engine)
    table.options.update(options)
    if "orc" in str(options):
        table = replace(table, columns={n: _for_orc(d) for n, d in table.columns.items()})
    return _given(name, table, seed, rounds, retract_share=0.0)


def _for_orc(domain: Domain) -> Domain:
    """Return a domain without fractions of a second before 1970, which ORC files cannot keep."""
    kind, values = domain
    return kind, [value for value in values if "1969-12-31T" not in str(value)]


def _drawn(chance: random.Random, engine: str) -> Declaration:
    return released(draw_declaration(chance, engines=[engine], functions=released_functions()))


def _drawn_order_free(chance: random.Random, engine: str) -> Declaration:
    if engine == "first-row":
        return released(draw_declaration(chance, engines=[engine]))
    # Java, which compacts too, would make null or an error of what wraps around.
    functions = [function for function in ORDER_FREE if function not in WRAPPING]
    return released(draw_order_free_declaration(chance, engines=[engine], functions=functions))


def _has_keys_of_bytes(table: Declaration) -> bool:
    """Return whether Java fails to look the keys up when it compacts in passing."""
    kinds = [str(table.columns[name][0]) for name in table.key]
    return any(kind.startswith(("BYTES", "BINARY")) for kind in kinds)


def _has_nanoseconds(table: Declaration) -> bool:
    """Return whether a column has times that Avro files cannot keep."""
    return any("TIMESTAMP(9)" in str(kind) for kind, _ in table.columns.values())


def _orders_by_nested(table: Declaration) -> bool:
    """Return whether nested values order records, which Java fails to compare once in a file."""
    ordering = {name for group in table.groups for name in group.ordering}
    ordering.update(table.sequence_fields)
    return any(not isinstance(table.columns[name][0], str) for name in ordering)


def _given(
    name: str, table: Declaration, seed: int, rounds: int, *, retract_share: float
) -> GivenTable:
    shape = Shape(
        row_count=rounds * ROWS_OF_A_COMMIT,
        key_values=4,
        null_share=0.3,
        retract_share=retract_share,
    )
    history = draw_history(table, shape, np.random.default_rng(seed))
    raw: dict[str, Any] = table.case(name, [])
    raw["options"] |= {**_COMPACTION_OPTIONS, "bucket": str(1 + seed % 2)}
    commits = list(_commits(json_rows(history.rows, history.kinds)))
    return GivenTable(case=parse_case(raw), commits=commits)


def _commits(rows: Rows) -> Iterator[Rows]:
    for start in range(0, len(rows), ROWS_OF_A_COMMIT):
        yield rows[start : start + ROWS_OF_A_COMMIT]
