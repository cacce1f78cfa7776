"""The records of each key that win a sequence group, and those that come late.

A record takes part in a group when its ordering columns are not all null. Among those of one key,
in merge order, a record is *accepted* when no earlier one is greater, and *late* otherwise. The
last accepted record is the last of the greatest: it gives the ordering columns, and the protected
columns that have no aggregate function.

Source: merge-semantics 3.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lake.merge.key_order import key_codes, number_codes
from lake.merge.order_words import Uints, one_array, validity
from lake.merge.reductions import first_places, last_places, last_rows_of_maximum
from lake.merge.segments import Bools, Ints, Segments
from lake.merge.selection import NO_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOrder:
    """The ordering columns of one group.

    Attributes:
        codes: One per row; compare as the ordering columns do.
        takes_part: One per row; None when every row does.
    """

    codes: Uints
    takes_part: Bools | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """The records that take part in a group, by how they came.

    Attributes:
        accepted: Their places, ascending.
        late: Their places, ascending.
    """

    accepted: Ints
    late: Ints


def group_order(ordering: Sequence[pa.ChunkedArray]) -> GroupOrder:
    """Return the order that a group's ordering columns make."""
    if any(column.null_count == 0 for column in ordering):
        return GroupOrder(codes=key_codes(ordering), takes_part=None)
    takes_part = np.zeros(len(ordering[0]), dtype=np.bool_)
    for column in ordering:
        takes_part |= validity(one_array(column))
    return GroupOrder(codes=key_codes(ordering), takes_part=takes_part)


def winning_rows(segments: Segments, order: GroupOrder) -> Ints:
    """Return the last accepted row of each segment, `NO_ROW` where no row takes part.

    A segment of one row is won by that row in any case.
    """
    # Rows that take no part are all null, smaller than any other: they win only among themselves.
    rows = last_rows_of_maximum(segments, order.codes)
    if order.takes_part is not None:
        rows[~order.takes_part[rows] & ~segments.is_single] = NO_ROW
    return rows


def arrivals(segments: Segments, order: GroupOrder) -> Arrivals:
    """Return which records of each segment are accepted and which are late."""
    if order.takes_part is None:
        places = np.arange(len(segments.order))
    else:
        places = np.flatnonzero(order.takes_part[segments.order])
    is_late = _find_late(order.codes[segments.order[places]], segments.segment_of[places])
    return Arrivals(accepted=places[~is_late], late=places[is_late])


def last_non_null_rows(segments: Segments, records: Arrivals, has_value: Bools) -> Ints:
    """Return the row that gives `last_non_null_value` per segment, `NO_ROW` where none does.

    Accepted values overwrite one another. A late value only fills what is empty, so the first of
    them stays unless there is an accepted one.

    Args:
        segments: The segments.
        records: Those that take part in the column's group.
        has_value: One per row.
    """
    in_order = has_value[segments.order]
    places = np.where(segments.is_single, segments.lasts, NO_ROW)
    late = records.late[in_order[records.late]]
    accepted = records.accepted[in_order[records.accepted]]
    places = first_places(segments, late, default=places)
    places = last_places(segments, accepted, default=places)
    rows = segments.order[places]
    rows[places == NO_ROW] = NO_ROW
    return rows


def _find_late(codes: Uints, segment_of: Ints) -> Bools:
    """Return which records are smaller than an earlier one of their segment."""
    is_late = np.zeros(len(codes), dtype=np.bool_)
    falls = (segment_of[1:] == segment_of[:-1]) & (codes[1:] < codes[:-1])
    if not falls.any():
        return is_late
    # Only segments with a fall hold late records. With the segment on top of the code, one running
    # maximum over all of them is a running maximum within each.
    affected = np.zeros(int(segment_of[-1]) + 1, dtype=np.bool_)
    affected[segment_of[1:][falls]] = True
    index = np.flatnonzero(affected[segment_of])
    running = number_codes([segment_of[index].astype(np.uint64), codes[index]])
    is_late[index] = running < np.maximum.accumulate(running)
    return is_late
