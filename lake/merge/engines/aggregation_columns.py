"""The aggregation engine of the column machine: each column outside the key is computed by its function.

Removals by -D are already part of the `History` that the engine gets (`retracts`).

Source: merge-semantics 2.4.
"""

from collections.abc import Iterator

import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.merge.computed_column import ComputedColumn, computed_column
from braid.lake.merge.key_histories import History, KeySteps, steps_of
from braid.lake.merge.selection import Pick
from braid.lake.merge.spec import MergeSpec


def aggregation_columns(
    table: pa.Table, spec: MergeSpec, history: History
) -> Iterator[tuple[str, ComputedColumn]]:
    """Yield every table column of the merged rows.

    Args:
        table: Key-value table.
        spec: How its records merge.
        history: The history of the keys.

    Raises:
        SchemaMismatch: A function cannot combine a value, or cannot retract it.
    """
    segments = history.segments
    functions = {function.column: function for function in spec.functions}
    # Columns differ in their steps only by whether they ignore retracts, so there are at most two sets.
    steps: dict[bool, KeySteps | None] = {}
    for name in table.column_names:
        function = functions.get(name)
        if function is None:
            yield name, ComputedColumn(merged=Pick(rows=segments.last_rows))
            continue
        ignoring = function.ignore_retract
        if ignoring not in steps:
            steps[ignoring] = steps_of(history, without_retracts=ignoring)
        column = combined_array(table.column(name))
        yield name, computed_column(function, column, steps[ignoring], segments.count)
