"""Rows of records that yield several rows each: faults of whole records, replaced rows, and counts of records.

If one row of a record has a fault, all rows of the record get this fault. A row is replaced if a later row of the same
record has the same key.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.fault import Faults
from braid.records.record_columns import OFFSET, PARTITION

_Ints = npt.NDArray[np.int64]


def spread_faults(faults: Faults, record_of: _Ints) -> None:
    """Give all rows of a record the fault that one of them has: a record is accepted or refused as a whole.

    Args:
        faults: The faults, by row.
        record_of: For each row the number of its record, ascending.
    """
    for row in faults.rows:
        first, last = np.searchsorted(record_of, record_of[row] + np.array([0, 1]))
        if last - first > 1:
            faults.add_all(range(int(first), int(last)), faults[row])


def replaced_rows(key: Sequence[pa.Array], record_of: _Ints) -> npt.NDArray[np.bool_]:
    """Return which rows have the key of a later row of the same record.

    All rows of a record have one place in the order of arrival, so that two of one key would tie.

    Args:
        key: The columns of the key.
        record_of: For each row the number of its record, ascending.
    """
    is_replaced = np.zeros(len(record_of), bool)
    has_others = np.flatnonzero(np.bincount(record_of, minlength=1)[record_of] > 1)
    if not len(has_others):
        return is_replaced
    places = pa.array(has_others)
    keys = zip(*(column.take(places).to_pylist() for column in key), strict=True)
    last: dict[tuple[object, ...], int] = {}
    for row, values in zip(has_others.tolist(), keys, strict=True):
        before = last.get(here := (int(record_of[row]), *values))
        if before is not None:
            is_replaced[before] = True
        last[here] = row
    return is_replaced


def rows_per_record(record_of: _Ints | None, is_chosen: npt.NDArray[np.bool_]) -> int:
    """Return how many more rows than records are chosen.

    Args:
        record_of: For each row the number of its record, ascending; None: each record has one row.
        is_chosen: Whether each row is chosen.
    """
    if record_of is None:
        return 0
    chosen = record_of[is_chosen]
    return len(chosen) - len(np.unique(chosen))


def first_rows(rows: Sequence[int], record_of: _Ints | None) -> list[int]:
    """Return the first of some rows of each record.

    Args:
        rows: The rows, ascending.
        record_of: For each row the number of its record, ascending; None: each record has one row.
    """
    if record_of is None or not len(rows):
        return list(rows)
    chosen = np.asarray(rows, dtype=np.int64)
    _, first = np.unique(record_of[chosen], return_index=True)
    found: list[int] = chosen[first].tolist()
    return found


def numbers_of_records(records: pa.Table) -> _Ints:
    """Return for each row the number of its record, ascending.

    Args:
        records: Kafka records (`record_columns`), the rows of each side by side.
    """
    places = np.stack([records.column(name).to_numpy() for name in (PARTITION, OFFSET)], axis=1)
    is_next = np.any(places[1:] != places[:-1], axis=1)
    return np.concatenate(([0], np.cumsum(is_next)))


def counted_once(*, accepted: int, folded: int, ignored: int, further: int) -> tuple[int, int, int]:
    """Return how many records, and not rows, were accepted, folded and ignored.

    Which of a record's rows were folded is not known; the sum is that of the records.

    Args:
        accepted: Rows that were accepted.
        folded: Rows that were folded.
        ignored: Rows that were ignored.
        further: How many more rows there are than records.
    """
    of_folded = min(folded, further)
    of_accepted = min(accepted, further - of_folded)
    return accepted - of_accepted, folded - of_folded, ignored - (further - of_folded - of_accepted)
