"""Random rows for a declared table, in order of arrival."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from braid.lake.merge.spec import MergeSpec, merge_spec
from tests.conformance.column_types import arrow_type
from tests.conformance.values import Json, to_arrow, to_json
from tests.property.declarations import Declaration
from tests.property.domains import Domain

KINDS = tuple(RowKind)
ADDS = (RowKind.INSERT, RowKind.UPDATE_AFTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What rows are like.

    Attributes:
        row_count: How many.
        key_values: Different values of each key column, at most.
        null_share: Chance of a null in a value column.
        retract_share: Chance of a -U or -D.
        kinds: Row kinds to draw from; adds at least.
        breaks_not_null: Now and then a NOT NULL column is null, as no writer lets it be.
    """

    row_count: int
    key_values: int = 2
    null_share: float = 0.3
    retract_share: float = 0.0
    kinds: Sequence[RowKind] = KINDS
    breaks_not_null: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A table and rows for it.

    Attributes:
        table: The declaration.
        rows: Its columns.
        kinds: Row kind of each, int8.
        sequence_numbers: int64, no two equal.
    """

    table: Declaration
    rows: pa.Table
    kinds: pa.Array
    sequence_numbers: pa.Array

    @property
    def spec(self) -> MergeSpec:
        """Return how the records merge."""
        return merge_spec(self.table.schema)

    @property
    def records(self) -> pa.Table:
        """Return the rows as a key-value table."""
        columns = [self.sequence_numbers, self.kinds, *self.rows.columns]
        return pa.table(columns, names=[SEQUENCE_NUMBER, VALUE_KIND, *self.rows.column_names])


def draw_history(table: Declaration, shape: Shape, chance: np.random.Generator) -> History:
    """Return random rows for the table; sequence numbers ascend with gaps."""
    columns = {
        name: _column(table, name, domain, shape, chance) for name, domain in table.columns.items()
    }
    rows = pa.table(columns, schema=table.arrow_schema)
    return History(
        table=table,
        rows=_of_streams(table, rows, chance) if table.distinct else rows,
        kinds=_kinds(shape, chance),
        sequence_numbers=pa.array(np.arange(shape.row_count, dtype=np.int64) * 3),
    )


def json_rows(rows: pa.Table, kinds: pa.Array) -> list[list[Json]]:
    """Return rows `[kind, values...]` in the JSON of the conformance format."""
    symbols = [RowKind(kind).symbol for kind in kinds.to_pylist()]
    columns = [to_json(column) for column in rows.columns]
    return [list(row) for row in zip(symbols, *columns, strict=True)]


def _column(
    table: Declaration, name: str, domain: Domain, shape: Shape, chance: np.random.Generator
) -> pa.Array:
    kind, values = domain
    count = shape.row_count
    if name in table.distinct:
        picks = np.arange(count) + int(chance.integers(len(values) - count))
        return to_arrow(values, arrow_type(kind)).take(pa.array(chance.permutation(picks)))
    null_share = shape.null_share
    if name in table.not_null:
        null_share = null_share / 20 if shape.breaks_not_null else 0.0
    if name in table.key:
        values, null_share = values[: shape.key_values], 0.0
    picks = chance.integers(len(values), size=count)
    mask = chance.random(count) < null_share
    return to_arrow(values, arrow_type(kind)).take(pa.array(picks, mask=mask))


def _of_streams(table: Declaration, rows: pa.Table, chance: np.random.Generator) -> pa.Table:
    """Return the rows as if each came from one stream, which knows its own groups only."""
    if not table.groups:
        return rows
    stream_of = chance.integers(len(table.groups), size=rows.num_rows)
    for index, group in enumerate(table.groups):
        # Neighbouring groups share some streams, so that records of several groups occur.
        is_other = pa.array((stream_of != index) & (stream_of != index - 1))
        for name in group.ordering + group.protected:
            position = rows.schema.get_field_index(name)
            column = rows.column(position).combine_chunks()
            null = pa.nulls(len(column), column.type)
            values = pa.chunked_array([_where(is_other, null, column)])
            rows = rows.set_column(position, rows.schema.field(position), values)
    return rows


def _where(condition: pa.Array, yes: pa.Array, no: pa.Array) -> pa.Array:
    """Return values chosen row by row, for nested types too."""
    both = pa.concat_arrays([yes, no])
    chosen = np.arange(len(no)) + np.where(condition.to_numpy(zero_copy_only=False), 0, len(yes))
    return both.take(pa.array(chosen))


def _kinds(shape: Shape, chance: np.random.Generator) -> pa.Array:
    adds = [kind for kind in shape.kinds if not kind.is_retract]
    retracts = [kind for kind in shape.kinds if kind.is_retract] or adds
    is_retract = chance.random(shape.row_count) < shape.retract_share
    added = chance.choice(np.array(adds), size=shape.row_count)
    retracted = chance.choice(np.array(retracts), size=shape.row_count)
    return pa.array(np.where(is_retract, retracted, added), pa.int8())
