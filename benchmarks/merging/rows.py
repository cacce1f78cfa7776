"""Records of a case of the merge benchmark, the same on every machine.

Keys are the numbers below a bound, written in the type of the key column so that they sort like the numbers.
Each file has nine of ten keys, chosen at random, so most keys are in several files. A file is generated in
stretches, so that a file of any size needs little memory. All keys of a stretch are greater than those of the
stretch before it; within a stretch the keys are in random order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.merging.cases import Case
from braid.lake.format.system_columns import RowKind

FILES = 4
PRESENT_SHARE = 0.9
STRETCH_KEYS = 1_000_000
NULL_SHARE = 0.2

_WORDS = pa.array([f"word{number:05d}" for number in range(10_000)])
_SHOPS = pa.array([f"shop{number:03d}" for number in range(500)])
_HEX = np.array([f"{number:02x}".encode() for number in range(256)])

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Rows and their kinds."""

    rows: pa.Table
    kinds: pa.Array


def records_of_file(case: Case, file: int, *, rows: int) -> Iterator[Records]:
    """Yield the records of one of the files, stretch by stretch, keys ascending between them.

    Args:
        case: Says columns and deletes.
        file: 0 to `FILES` - 1.
        rows: Of all files together, about.
    """
    universe = round(rows / FILES / PRESENT_SHARE)
    # Where one file is cut, another is not: no key range is to be had without merging.
    first_stop = STRETCH_KEYS * (file + 1) // FILES if universe > STRETCH_KEYS else universe
    bounds = [0, *range(first_stop, universe, STRETCH_KEYS), universe]
    for number, (low, high) in enumerate(pairwise(bounds)):
        yield _records(case, np.random.default_rng([file, number]), low, high, universe, file)


def _records(
    case: Case, random: np.random.Generator, low: int, high: int, universe: int, file: int
) -> Records:
    keys = np.arange(low, high)
    keys = random.permutation(keys[random.random(len(keys)) < PRESENT_SHARE])
    count = len(keys)
    columns = _key_columns(case.key, keys, universe)
    columns += [
        pa.array(random.integers(0, 1_000_000, count), mask=random.random(count) < NULL_SHARE / 4)
        for _ in case.ordering
    ]
    columns += [_values(random, sql_type, count) for _, sql_type in case.columns]
    # A key's delete is in one of the files, whichever the key.
    deleted = (keys % FILES == file) & (random.random(count) < case.deleted_share / PRESENT_SHARE)
    kinds = np.where(deleted, np.int8(RowKind.DELETE), np.int8(RowKind.INSERT))
    names = [name for name, _ in case.all_columns]
    return Records(rows=pa.table(columns, names=names), kinds=pa.array(kinds))


def _key_columns(key: Sequence[tuple[str, str]], keys: Numbers, universe: int) -> list[pa.Array]:
    match [sql_type for _, sql_type in key]:
        case ["BIGINT"]:
            return [pa.array(keys)]
        case ["STRING"]:
            return [_as_hex(keys, universe)]
        case ["INT", "STRING", "BIGINT"]:
            shops = _SHOPS.take(pa.array(keys // 100 % len(_SHOPS)))
            region = pa.array((keys // (100 * len(_SHOPS))).astype(np.int32))
            return [region, shops, pa.array(keys % 100)]
        case types:
            raise AssertionError(types)


def _as_hex(keys: Numbers, universe: int) -> pa.Array:
    """Return keys as 16 hex digits that order as they do and look like hashes."""
    step = (1 << 64) // (universe + 1)
    spread = keys.astype(np.uint64) * np.uint64(step)
    scattered = spread + keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) % np.uint64(step)
    digits = _HEX[scattered.astype(">u8").view(np.uint8)].reshape(len(keys), 8)
    return pa.array(digits.view("S16").ravel(), pa.binary(16)).cast(pa.binary()).cast(pa.string())


def _values(random: np.random.Generator, sql_type: str, count: int) -> pa.Array:
    nulls = random.random(count) < NULL_SHARE
    match sql_type:
        case "BIGINT":
            return pa.array(random.integers(0, 1 << 40, count), mask=nulls)
        case "DOUBLE":
            return pa.array(random.integers(0, 1 << 40, count) / 128, mask=nulls)
        case "STRING":
            return _WORDS.take(pa.array(random.integers(0, len(_WORDS), count), mask=nulls))
        case "ARRAY<BIGINT>":
            lengths = random.integers(0, 4, count)
            offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
            elements = pa.array(random.integers(0, 1_000, int(offsets[-1])))
            return pa.ListArray.from_arrays(pa.array(offsets), elements, mask=pa.array(nulls))
        case _:
            raise AssertionError(sql_type)
