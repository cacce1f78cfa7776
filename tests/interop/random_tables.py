"""Random tables of every engine and function, as cases that Java carries out too."""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from braid.lake.format.system_columns import RowKind
from tests.interop.version_differences import released, released_functions, takes_retracts
from tests.property.declarations import Declaration, draw_declaration
from tests.property.function_columns import FunctionColumn
from tests.property.histories import Shape, draw_history, json_rows

KIND_COLUMN = "rk"


def cases_of_every_kind(*, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield a table of each engine for several seeds, and two for each aggregate function."""
    chance = random.Random(seed)
    for engine, count in (("deduplicate", 4), ("first-row", 3), ("partial-update", 4)):
        for number in range(count):
            name = f"{engine.replace('-', '_')}_{number}"
            yield random_case(name, chance.randrange(2**31), engine=engine)
    for function in released_functions():
        for engine in ("partial-update", "aggregation"):
            name = f"{engine.replace('-', '_')}_{function.name}"
            seed_of_case = chance.randrange(2**31)
            yield random_case(name, seed_of_case, engine=engine, functions=(function,))


def random_case(
    case_id: str,
    seed: int,
    *,
    engine: str,
    functions: Sequence[FunctionColumn] | None = None,
) -> dict[str, Any]:
    """Return a table of the engine and commits to it, some of them followed by a full compaction."""
    chance = random.Random(seed)
    table = draw_declaration(chance, engines=[engine], functions=functions or released_functions())
    while functions and not table.functions and engine in ("partial-update", "aggregation"):
        table = draw_declaration(chance, engines=[engine], functions=functions)
    table = released(table)
    if engine == "deduplicate" and chance.random() < 0.3:
        _take_kinds_from_a_column(table)
    # Histories that end with an error early say little; the rest of them is about rows.
    is_brave = chance.random() < 0.2
    refuses = table.refuses_retracts or (not is_brave and refuses_some_retracts(table))
    share = 0.0 if refuses else chance.choice([0.0, 0.15, 0.4])
    shape = Shape(
        row_count=chance.randint(10, 40),
        key_values=3,
        null_share=chance.choice([0.1, 0.4]),
        retract_share=share if takes_retracts(table) else 0.0,
    )
    history = draw_history(table, shape, np.random.default_rng(seed))
    kinds = history.kinds
    if KIND_COLUMN in table.columns:
        kinds = pa.array(np.full(len(kinds), RowKind.INSERT), pa.int8())
    return table.case(case_id, _steps(json_rows(history.rows, kinds), chance, engine))


def refuses_some_retracts(table: Declaration) -> bool:
    """Return whether a function of the table cannot take a value back."""
    return any(
        not function.retracts and table.options.get(f"fields.{name}.ignore-retract") != "true"
        for name, function in table.functions.items()
    )


def _steps(rows: list[Any], chance: random.Random, engine: str) -> list[dict[str, Any]]:
    inner = sorted(chance.sample(range(1, len(rows)), 2))
    steps: list[dict[str, Any]] = []
    for start, stop in pairwise([0, *inner, len(rows)]):
        steps.append({"write": rows[start:stop]})
        if chance.random() < (0.7 if engine == "first-row" else 0.25):
            steps.append({"compact": "full"})
    return steps


def _take_kinds_from_a_column(table: Declaration) -> None:
    table.columns[KIND_COLUMN] = ("STRING", [kind.symbol for kind in RowKind])
    table.not_null.add(KIND_COLUMN)
    table.options["rowkind.field"] = KIND_COLUMN


def final_rows(case: dict[str, Any]) -> list[Any] | None:
    """Return the rows after the last step of an answered case, None if it ends with an error."""
    last = case["expect"]["steps"][-1]
    return None if "error" in last else last["rows"]
