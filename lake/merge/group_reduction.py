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
from lake.merge.segments import Bools, Ints, Segments
from lake.merge.selection import NO_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReduction:
    """What a sequence group makes of a table's segments.

    Attributes:
        winners: Place of the last accepted record per segment, `NO_ROW` where none takes part.
        accepted: Places of accepted records, ascending.
        late: Places of late records, ascending.
    """

    winners: Ints
    accepted: Ints
    late: Ints


def reduce_group(segments: Segments, ordering: Sequence[pa.ChunkedArray]) -> GroupReduction:
    """Return the winners of one group.

    Args:
        segments: The segments of the table.
        ordering: Its ordering columns, in row order.
    """
    codes = key_codes(ordering)
    places = _taking_part(segments, ordering)
    if places is None:
        places = np.arange(len(segments.order))
        codes = codes[segments.order]
    else:
        codes = codes[segments.order[places]]
    segment_of = segments.segment_of[places]
    is_late = _find_late(codes, segment_of)
    late = np.flatnonzero(is_late)
    accepted = places if not len(late) else places[~is_late]
    # Of several places for one segment, numpy keeps the last.
    winners = np.full(segments.count, NO_ROW, dtype=np.int64)
    winners[segments.segment_of[accepted]] = accepted
    return GroupReduction(winners=winners, accepted=accepted, late=places[late])


def _taking_part(segments: Segments, ordering: Sequence[pa.ChunkedArray]) -> Ints | None:
    """Return the places whose ordering columns are not all null; None stands for all places."""
    if any(column.null_count == 0 for column in ordering):
        return None
    takes_part = np.zeros(len(segments.order), dtype=np.bool_)
    for column in ordering:
        if column.null_count < len(column):
            takes_part |= validity(one_array(column))
    return np.flatnonzero(takes_part[segments.order])


def _find_late(codes: Uints, segment_of: Ints) -> Bools:
    """Return which records are smaller than an earlier one of their segment."""
    is_late = np.zeros(len(codes), dtype=np.bool_)
    same = segment_of[1:] == segment_of[:-1]
    falls = same & (codes[1:] < codes[:-1])
    if not falls.any():
        return is_late
    # Only segments with a fall hold late records. Numbered anew, greater segments get greater
    # codes, so one running maximum over all of them is a running maximum within each.
    affected = np.zeros(int(segment_of[-1]) + 1, dtype=np.bool_)
    affected[segment_of[1:][falls]] = True
    index = np.flatnonzero(affected[segment_of])
    running = number_codes([segment_of[index].astype(np.uint64), codes[index]])
    is_late[index] = running < np.maximum.accumulate(running)
    return is_late
