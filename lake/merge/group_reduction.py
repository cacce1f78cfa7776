"""Winning and late records of a sequence group, for whole batches.

A record takes part in a group when its ordering columns are not all null. Among the records of one key that take
part, in merge order, a record is *accepted* when no earlier one is greater, and *late* otherwise. The last accepted
record is the last of the greatest records. It gives the ordering columns and the protected columns that have no
aggregate function; if it is a retract, these protected columns become null.

`winning_rows` finds the last accepted record for keys without retracts. For other keys
`engines.partial_update_columns` finds it with `late_positions`.

Source: merge-semantics 3.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import validity
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes, number_codes
from braid.lake.merge.row_reductions import last_rows_of_maximum
from braid.lake.merge.segments import Bools, Ints, Segments
from braid.lake.merge.selection import NO_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingCodes:
    """The order that the ordering columns of one group give to the rows of a table.

    Attributes:
        codes: One code per row; codes compare as the ordering columns do.
        takes_part: One boolean per row, true where an ordering column has a value; None when all
            are true.
    """

    codes: Uints
    takes_part: Bools | None


def ordering_codes(ordering: Sequence[pa.ChunkedArray]) -> OrderingCodes:
    """Return the order of a group's ordering columns, equally long."""
    # One column without null is enough: no row has null in all of them then.
    if any(column.null_count == 0 for column in ordering):
        return OrderingCodes(codes=key_codes(ordering), takes_part=None)
    takes_part = np.zeros(len(ordering[0]), dtype=np.bool_)
    for column in ordering:
        takes_part |= validity(column)
    return OrderingCodes(codes=key_codes(ordering), takes_part=takes_part)


def winning_rows(segments: Segments, order: OrderingCodes, untouched: Bools | None) -> Ints:
    """Return the last accepted row of each segment, `NO_ROW` where no row takes part.

    Args:
        segments: Segments without retracts.
        order: The order of the group's ordering columns.
        untouched: One boolean per segment: whether it has a single row, which wins even if it takes
            no part; None when no segment has.
    """
    # Rows that take no part have null in all ordering columns, the smallest code: one of them attains
    # the maximum only where no row takes part.
    rows = last_rows_of_maximum(segments, order.codes)
    if order.takes_part is not None:
        lost = ~order.takes_part[rows]
        if untouched is not None:
            lost &= ~untouched
        rows[lost] = NO_ROW
    return rows


def takes_part(segments: Segments, order: OrderingCodes) -> Bools:
    """Return which positions of the segments take part in a group."""
    if order.takes_part is None:
        return np.ones(len(segments.order), dtype=np.bool_)
    found: Bools = order.takes_part[segments.order]
    return found


def late_positions(segments: Segments, order: OrderingCodes, chosen: Bools) -> Bools | None:
    """Return which of the chosen positions are smaller than an earlier one; None when none is.

    Args:
        segments: The segments.
        order: The order of the group's ordering columns.
        chosen: One boolean per position; positions that are not chosen are not compared.
    """
    positions = np.flatnonzero(chosen)
    if not len(positions):
        return None
    is_late = _find_late(order.codes[segments.order[positions]], segments.segment_of[positions])
    if not is_late.any():
        return None
    found = np.zeros(len(chosen), dtype=np.bool_)
    found[positions[is_late]] = True
    return found


def _find_late(codes: Uints, segment_of: Ints) -> Bools:
    """Return which records are smaller than an earlier one of their segment.

    Args:
        codes: One code per record.
        segment_of: The segment of each record, ascending.
    """
    assert len(codes) == len(segment_of), "one code per record"
    is_late = np.zeros(len(codes), dtype=np.bool_)
    falls = (segment_of[1:] == segment_of[:-1]) & (codes[1:] < codes[:-1])
    if not falls.any():
        return is_late
    # Only segments in which a code is smaller than the one before it hold late records. Nearly always
    # they are few, so only their codes are compared again. With the number of the segment as the more
    # significant part, codes of a later segment exceed those of all earlier ones, so one running
    # maximum over all segments is a running maximum within each.
    affected = np.zeros(int(segment_of[-1]) + 1, dtype=np.bool_)
    affected[segment_of[1:][falls]] = True
    index = np.flatnonzero(affected[segment_of])
    running = number_codes([segment_of[index].astype(np.uint64), codes[index]])
    is_late[index] = running < np.maximum.accumulate(running)
    return is_late
