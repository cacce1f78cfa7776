"""Key codes: the words of normalized keys, packed into one 64-bit number per row or replaced by ranks.

A *word* holds one number per row, `0 <= value < 2**bits`. Rows compare by their words in turn, the most significant
first. Narrow words are packed into one 64-bit *code* per row. If 64 bits are too few, codes are ranks: rows are
sorted by their first word, and only rows that tie there and differ in a later word are sorted again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from braid.lake.merge.segments import run_starts

Uints = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One number per row.

    Attributes:
        values: Each below `2**bits`; read only.
        bits: 1 to 64.
    """

    values: Uints
    bits: int


def narrow(values: Numbers, *, descending: bool = False) -> Word | None:
    """Return numbers, at least one, as a word; None when all are equal.

    Args:
        values: Any signed or unsigned integers.
        descending: Larger values get smaller words.
    """
    low, high = int(values.min()), int(values.max())
    if low == high:
        return None
    # high - low may exceed int64, and the subtraction then wraps; read as uint64 it is right again.
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    if descending:
        spread = np.subtract(wide(high), values, dtype=wide)
    else:
        spread = np.subtract(values, wide(low), dtype=wide)
    bits = (high - low).bit_length()
    assert 1 <= bits <= 64, bits
    return Word(values=spread.view(np.uint64), bits=bits)


def concatenated(words: Sequence[Word]) -> list[Word]:
    """Return the fewest words with the same order: neighbours are packed while 64 bits hold them."""
    packed: list[Word] = []
    for word in words:
        if packed and packed[-1].bits + word.bits <= 64:
            # The more significant word gets the higher bits. Values of the other word are below
            # 2**bits, so the two do not overlap.
            left = packed[-1]
            values = (left.values << np.uint64(word.bits)) | word.values
            packed[-1] = Word(values=values, bits=left.bits + word.bits)
        else:
            packed.append(word)
    return packed


def word_codes(words: Sequence[Word], *, rows: int) -> Uints:
    """Return one code per row; codes compare as the words do, and are equal for equal rows."""
    packed = [word.values for word in concatenated(words)]
    match packed:
        case []:
            return np.zeros(rows, dtype=np.uint64)
        case [codes]:
            return codes
        case _:
            return _ranks(packed)


def _ranks(words: Sequence[Uints]) -> Uints:
    """Return the rank of each row by its words, most significant first; ties have one rank."""
    order = np.argsort(words[0], kind="stable")
    starts = run_starts(words[0][order])
    for word in words[1:]:
        _refine(order, starts, word)
    codes = np.empty(len(order), dtype=np.uint64)
    codes[order] = np.cumsum(starts, dtype=np.uint64)
    return codes


def _refine(order: npt.NDArray[np.int64], starts: npt.NDArray[np.bool_], word: Uints) -> None:
    """Sort rows that tie so far by a further word, and mark where they no longer tie; in place.

    Args:
        order: Rows sorted by the words before.
        starts: True at the first row of each run of ties.
        word: One number per row.
    """
    changes = run_starts(word[order])
    if not (changes & ~starts).any():
        return  # rows that tie have equal words here, too
    # Only the runs in which the word changes are sorted again.
    stretch = np.cumsum(starts) - 1
    mixed = np.zeros(int(stretch[-1]) + 1, dtype=np.bool_)
    mixed[stretch[changes & ~starts]] = True
    positions = np.flatnonzero(mixed[stretch])
    rows = order[positions]
    sorted_within = np.lexsort((word[rows], stretch[positions]))
    order[positions] = rows[sorted_within]
    starts[positions] |= run_starts(word[order[positions]])
