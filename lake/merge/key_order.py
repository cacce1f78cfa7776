"""One number per row that orders rows as their key columns do.

Keys of a few columns become one unsigned 64-bit code: their words (`order_words`) side by side.
Where 64 bits do not hold them, codes are ranks: rows are sorted by their first word, and only rows
that tie there and differ further on are sorted again.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.merge.order_words import Uints, Word, concatenated, narrow, order_words


def key_codes(
    columns: Sequence[pa.Array | pa.ChunkedArray], *, descending: bool = False
) -> npt.NDArray[np.uint64]:
    """Return codes that compare as the rows do, equal for equal rows.

    Codes of one call compare with each other only: to compare several tables, concatenate them.

    Args:
        columns: At least one, equally long, most significant first. Null is smallest.
        descending: Turns the order of values round; null stays smallest.

    Returns:
        One code per row, in row order.
    """
    assert columns, "rows without key columns have no order"
    words = [word for column in columns for word in order_words(column, descending=descending)]
    return _codes(words, rows=len(columns[0]))


def number_codes(numbers: Sequence[Uints]) -> Uints:
    """Return codes of rows of numbers, at least one row, as `key_codes` does of columns."""
    words = [word for values in numbers if (word := narrow(values)) is not None]
    return _codes(words, rows=len(numbers[0]))


def _codes(words: Sequence[Word], *, rows: int) -> Uints:
    packed = [word.values for word in concatenated(words)]
    match packed:
        case []:
            return np.zeros(rows, dtype=np.uint64)
        case [codes]:
            return codes
        case _:
            return _ranks(packed)


def _ranks(words: Sequence[Uints]) -> Uints:
    order = np.argsort(words[0], kind="stable")
    starts = _changes(words[0][order])
    for word in words[1:]:
        _refine(order, starts, word)
    codes = np.empty(len(order), dtype=np.uint64)
    codes[order] = np.cumsum(starts, dtype=np.uint64)
    return codes


def _changes(values: Uints) -> npt.NDArray[np.bool_]:
    """Return true for the first of each stretch of equal values."""
    starts = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return starts


def _refine(order: npt.NDArray[np.int64], starts: npt.NDArray[np.bool_], word: Uints) -> None:
    """Sort each stretch of ties by a further word, in place, and mark the stretches it makes."""
    changes = _changes(word[order])
    if not (changes & ~starts).any():
        return
    stretch = np.cumsum(starts) - 1
    mixed = np.zeros(int(stretch[-1]) + 1, dtype=np.bool_)
    mixed[stretch[changes & ~starts]] = True
    places = np.flatnonzero(mixed[stretch])
    rows = order[places]
    sorted_within = np.lexsort((word[rows], stretch[places]))
    order[places] = rows[sorted_within]
    starts[places] |= _changes(word[order[places]])
