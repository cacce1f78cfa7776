"""The row machine: the definition of merging, executed one record at a time.

1. Order the records by key, then sequence fields, then sequence number, then retracts before adds,
   then position.
2. A key's only record stays as it is, and the engine does not merge it (merge-semantics 1.6), unless the
   caller passes `single_untouched=False`.
3. For any other key the engine gets every record in order. It returns the merged row, or none if it ignored all
   records.

`fold` runs it for a whole table (`select_by_rows`); the column machine runs it for single keys (`merge_segments`).

Source: merge-semantics 1.5, 1.6, 2.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa

from braid.lake.format.system_columns import RowKind
from braid.lake.merge.engines.aggregation import Aggregation
from braid.lake.merge.engines.deduplicate import Deduplicate
from braid.lake.merge.engines.first_row import FirstRow
from braid.lake.merge.engines.merge_function import MergedRow, MergeFunction
from braid.lake.merge.engines.partial_update import PartialUpdate
from braid.lake.merge.function_definition import folded_array
from braid.lake.merge.order.order_values import OrderValue
from braid.lake.merge.records import Records, records_of
from braid.lake.merge.selection import Merged, Selection, pick_of
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine


def select_by_rows(table: pa.Table, spec: MergeSpec, *, single_untouched: bool = True) -> Selection:
    """Return the merged rows of a key-value table in key order.

    Args:
        table: Key-value rows in any order.
        spec: How the rows merge.
        single_untouched: The single record of a key stays as it is, without the engine.

    Raises:
        SchemaMismatch: Records that cannot be merged.
    """
    records = records_of(table, spec)
    merged = merge_segments(
        records, spec, segments_of(records, spec), single_untouched=single_untouched
    )
    return selection_of([row for row in merged if row is not None], records, spec)


def merge_segments(
    records: Records,
    spec: MergeSpec,
    segments: Iterable[Sequence[int]],
    *,
    single_untouched: bool = True,
) -> Iterator[MergedRow | None]:
    """Yield the merged row of each segment.

    Args:
        records: All records.
        spec: How the table's records merge.
        segments: For each key, its records in merge order, at least one.
        single_untouched: The single record of a key stays as it is, without the engine.

    Yields:
        The merged row of each segment, None where every record of the segment was ignored.
    """
    # One object for all keys: `reset` is cheaper than creating the functions of every column again.
    engine = merge_engine(records, spec)
    for segment in segments:
        assert segment, "a key has a record"
        if single_untouched and len(segment) == 1:
            yield _untouched(records, segment[0])
            continue
        engine.reset()
        for record in segment:
            engine.add(record)
        yield engine.result()


def merge_engine(records: Records, spec: MergeSpec) -> MergeFunction:
    """Return the engine of the table, in the state before its first record."""
    match spec.engine:
        case MergeEngine.DEDUPLICATE:
            return Deduplicate(records, ignore_delete=spec.ignore_delete)
        case MergeEngine.PARTIAL_UPDATE:
            return PartialUpdate(records, spec)
        case MergeEngine.AGGREGATION:
            return Aggregation(records, spec)
        case MergeEngine.FIRST_ROW:
            return FirstRow(records, ignore_delete=spec.ignore_delete)


def selection_of(rows: Sequence[MergedRow], records: Records, spec: MergeSpec) -> Selection:
    """Return merged rows as a selection: by record, except values that functions computed."""
    functions = {function.column: function for function in spec.functions}
    columns: dict[str, Merged] = {}
    for index, name in enumerate(records.cells):
        cells = [row.cells[index] for row in rows]
        if name in functions:
            columns[name] = folded_array(functions[name], cells, records.types[name])
        else:
            columns[name] = pick_of(cells)
    return Selection(
        columns=columns,
        sequence_numbers=np.array([row.sequence_number for row in rows], dtype=np.int64),
        kinds=np.array([row.kind for row in rows], dtype=np.int8),
    )


def _untouched(records: Records, record: int) -> MergedRow:
    return MergedRow(
        cells=tuple(values[record] for values in records.cells.values()),
        sequence_number=records.sequence_numbers[record],
        kind=records.kinds[record],
    )


def segments_of(records: Records, spec: MergeSpec) -> Iterator[list[int]]:
    """Yield the records of each key in merge order, in the order of the keys."""

    def key(record: int) -> list[OrderValue]:
        return [records.order_values[name][record] for name in spec.key_columns]

    def version(record: int) -> tuple[int, bool]:
        is_add = not RowKind(records.kinds[record]).is_retract
        return records.sequence_numbers[record], is_add

    order = sorted(range(len(records.kinds)), key=version)
    # Sorting is stable, so the least significant column goes first.
    for name in reversed(spec.sequence_fields):
        values = records.order_values[name]
        if spec.sequence_descending:
            # Null is the smallest in both directions, so it gets the largest rank of the reversed sort:
            # null alone is the empty tuple, so `not value` is true for null and for nothing else.
            ranks = [(not value, value) for value in values]
            order.sort(key=ranks.__getitem__, reverse=True)
        else:
            order.sort(key=values.__getitem__)
    order.sort(key=key)
    for _, segment in groupby(order, key=key):
        yield list(segment)
