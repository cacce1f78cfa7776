"""Row expiry: rows that end a declared time after the value of one of their columns.

A table with `record-level.expire-time` and `record-level.time-field` has rows with a time to live. A row is
expired at a moment when

    seconds(moment) > seconds(value of the time field) + seconds(expire time)

Every division to seconds rounds as in the reference, so that a row expires in the same second everywhere:

| type of the time field | its seconds |
|---|---|
| INT | the value |
| BIGINT | the value below 10^12, else the value / 1000: seconds or milliseconds since 1970 |
| TIMESTAMP, TIMESTAMP_LTZ | the milliseconds / 1000, rounded towards 1970; a TIMESTAMP counts as UTC |

A row without a value never expires. The value is that of the *merged* row: a single record proves nothing, because a
newer record of its key may carry a later time, and the other columns may come from records without a time. So expired
rows are left out after the merge, and compactions remove an expired row only where no older record of its key is left
elsewhere. The reference drops single records before the merge (`docs/guides/row-ttl.md`).

Source: merge-semantics 7.4 for the rule; the order of merge and expiry is ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import combined_array
from braid.lake.format.data_types import TIMESTAMP_ROOTS, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import VALUE_KIND, is_retract

EXPIRY_ROOTS: Final = frozenset({TypeRoot.INT, TypeRoot.BIGINT}) | TIMESTAMP_ROOTS
"""Types that a time field may have."""

_MILLISECONDS_FROM: Final = 1_000_000_000_000
"""A BIGINT of at least this many is milliseconds: as seconds it would be the year 33658."""
_PER_MS: Final = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_INT64: Final = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRows:
    """The rows that are not expired at one moment.

    Attributes:
        column: The time field.
        ranges: Values of live rows, as the whole numbers that the column's Arrow type stores: disjoint,
            ascending, both ends included. Null is live too.
    """

    column: str
    ranges: tuple[tuple[int, int], ...]

    def matches(self, times: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return which values of the time field are those of live rows, without nulls."""
        numbers = times.cast(pa.int64())
        alive = times.is_null()
        for low, high in self.ranges:
            inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
            alive = pc.or_(alive, pc.fill_null(inside, False))
        return alive

    def with_column(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names and the time field, without repeats."""
        return tuple(dict.fromkeys([*names, self.column]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowExpiry:
    """The rule by which the rows of a table expire.

    Attributes:
        column: The time field.
        root: Its type.
        unit: Unit of the time field's Arrow type; None for whole numbers.
        after_seconds: Seconds from the value to the expiry.
    """

    column: str
    root: TypeRoot
    unit: str | None
    after_seconds: int

    def at(self, now_ms: int) -> LiveRows:
        """Return the live rows at a moment.

        Args:
            now_ms: Milliseconds since 1970 UTC.
        """
        oldest = now_ms // 1_000 - self.after_seconds
        return LiveRows(column=self.column, ranges=self._ranges(oldest))

    def _ranges(self, oldest: int) -> tuple[tuple[int, int], ...]:
        """Return the values whose seconds are at least `oldest`."""
        if self.root is TypeRoot.INT:
            return _clipped((oldest, _INT64[1]))
        if self.root is TypeRoot.BIGINT:
            seconds = (oldest, _MILLISECONDS_FROM - 1)
            return _clipped(seconds, (max(_MILLISECONDS_FROM, oldest * 1_000), _INT64[1]))
        assert self.unit is not None, "a timestamp has a unit"
        # Before 1970 the quotient is rounded up: -999 ms are second 0.
        oldest_ms = oldest * 1_000 - (999 if oldest <= 0 else 0)
        return _clipped((oldest_ms * _PER_MS[self.unit], _INT64[1]))


def row_expiry(schema: TableSchema) -> RowExpiry | None:
    """Return the rule by which a table's rows expire.

    Returns:
        None without `record-level.expire-time`, and in a table of another engine whose time field is absent
        or has another type: its rows are read, and `check_compactable` refuses to compact them.
    """
    options = schema.table_options
    expire_ms, name = options.record_level_expire_time_ms, options.record_level_time_field
    if expire_ms is None or name is None or name not in schema.fields_by_name:
        return None
    data_type = schema.field(name).type
    if data_type.root not in EXPIRY_ROOTS:
        return None
    arrow_type = schema.arrow_schema.field(name).type
    return RowExpiry(
        column=name,
        root=data_type.root,
        unit=arrow_type.unit if data_type.root in TIMESTAMP_ROOTS else None,
        after_seconds=expire_ms // 1_000,
    )


def without_expired(table: pa.Table, live: LiveRows) -> pa.Table:
    """Return merged rows without those that are expired; retracts stay.

    Args:
        table: Key-value table with the time field, one row per key.
        live: The live rows.
    """
    kept = live.matches(combined_array(table.column(live.column)))
    kinds = combined_array(table.column(VALUE_KIND)).to_numpy()
    kept = pc.or_(kept, pa.array(is_retract(kinds)))
    return table if pc.all(kept).as_py() in (True, None) else table.filter(kept)


def _clipped(*ranges: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Return the ranges within 64 bits, without empty ones; neighbours become one."""
    joined: list[tuple[int, int]] = []
    for low, high in ranges:
        first, last = max(low, _INT64[0]), min(high, _INT64[1])
        if first > last:
            continue
        if joined and joined[-1][1] + 1 >= first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return tuple(joined)
