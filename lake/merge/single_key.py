"""Merge of the records of one key that are given as Python values, by the row machine.

A lookup of a single row merges two or three records. As arrays they would cost some hundred calls of Arrow and numpy, which
take fifty times as long as the merge itself. The row machine defines the result, so nothing is decided here.

Aggregated columns of dates, times or nested types, and nested ordering columns, have other plain values than Python rows
do: `can_merge_values` is False, and the records have to be merged as arrays.

Source: merge-semantics 1.5, 1.6, 2.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from braid.lake.merge.function_definition import folded_array
from braid.lake.merge.order.order_values import order_value
from braid.lake.merge.records import Records
from braid.lake.merge.row_machine import merge_segments, segments_of
from braid.lake.merge.spec import MergeSpec


def can_merge_values(spec: MergeSpec, types: Mapping[str, pa.DataType]) -> bool:
    """Return whether `merge_single_key` can merge rows of a table with these columns."""
    folded = [types[function.column] for function in spec.functions if function.column in types]
    ordering = [types[name] for name in _ordering(spec) if name in types]
    return not any(pa.types.is_temporal(kind) or pa.types.is_nested(kind) for kind in folded) and (
        not any(pa.types.is_nested(kind) for kind in ordering)
    )


def merge_single_key(
    rows: Sequence[Mapping[str, object]], spec: MergeSpec, types: Mapping[str, pa.DataType]
) -> dict[str, object] | None:
    """Return the merged row of one key, None if its records were ignored or the row is deleted.

    Args:
        rows: Records as `python_rows` returns them, oldest first, with sequence number and kind.
        spec: How the table's records merge. Requires: `can_merge_values`.
        types: The Arrow type of each column of the rows, without sequence number and kind.

    Raises:
        SchemaMismatch: The records cannot be merged; the message does not name the key.
    """
    folded = {function.column: function for function in spec.functions if function.column in types}
    kinds = [_number(row[VALUE_KIND]) for row in rows]
    records = Records(
        kinds=kinds,
        sequence_numbers=[_number(row[SEQUENCE_NUMBER]) for row in rows],
        types=dict(types),
        cells={
            name: [row[name] for row in rows]
            if name in folded
            else [None if row[name] is None else number for number, row in enumerate(rows)]
            for name in types
        },
        order_values={
            name: [order_value(row[name]) for row in rows]
            for name in _ordering(spec)
            if name in types
        },
    )
    [segment] = segments_of(records, spec)
    [merged] = merge_segments(records, spec, [segment])
    if merged is None or RowKind(merged.kind).is_retract:
        return None
    values: dict[str, object] = {}
    for name, cell in zip(types, merged.cells, strict=True):
        if name in folded:
            values[name] = folded_array(folded[name], [cell], types[name])[0].as_py()
        else:
            assert cell is None or isinstance(cell, int), "the number of a record"
            values[name] = None if cell is None else rows[cell][name]
    return values


def _ordering(spec: MergeSpec) -> list[str]:
    of_groups = (name for group in spec.groups for name in group.ordering)
    return list(dict.fromkeys([*of_groups, *spec.key_columns, *spec.sequence_fields]))


def _number(value: object) -> int:
    assert isinstance(value, int), "sequence numbers and kinds are never null"
    return value
