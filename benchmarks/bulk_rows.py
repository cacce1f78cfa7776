"""Rows of the benchmarks, the same on every machine: of a table with seven columns, and of a table of texts.

The table with seven columns is the one that the Java reference's bulk writer fills, so both sides can
be measured with the same rows. They are functions of the row number i: h(j) = splitmix64(seed + 16 i +
j), k = h(0) mod keys, g1 = h(1) mod 10^6 (null when h(2) mod 20 = 0), a = h(3) mod 1000, b = "s" + h(4)
mod 10000 (null when h(5) mod 10 = 0), g2 = i, c = h(6) mod 10^6 / 100, d = h(7) mod 10^5.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

GROUPED_COLUMNS = [
    ("k", "BIGINT"),
    ("g1", "BIGINT"),
    ("a", "INT"),
    ("b", "STRING"),
    ("g2", "BIGINT"),
    ("c", "DOUBLE"),
    ("d", "BIGINT"),
]
GROUPED_OPTIONS = {
    "bucket": "1",
    "merge-engine": "partial-update",
    "write-only": "true",
    "fields.g1.sequence-group": "a,b",
    "fields.g2.sequence-group": "c,d",
}
TEXT_COLUMNS = [("k", "INT"), *((f"c{index}", "STRING") for index in range(20))]


def grouped_rows(first: int, count: int, *, keys: int, seed: int = 1) -> pa.Table:
    """Return rows `first` to `first + count` of the partial-update table with two groups."""
    row = np.arange(first, first + count, dtype=np.uint64)

    def draw(column: int, modulus: int) -> npt.NDArray[np.int64]:
        mixed = _mix(np.uint64(seed) + np.uint64(16) * row + np.uint64(column))
        return (mixed % np.uint64(modulus)).astype(np.int64)

    text = np.char.add("s", draw(4, 10_000).astype(str))
    return pa.table(
        {
            "k": draw(0, keys),
            "g1": pa.array(draw(1, 1_000_000), mask=draw(2, 20) == 0),
            "a": draw(3, 1_000).astype(np.int32),
            "b": pa.array(text, mask=draw(5, 10) == 0),
            "g2": row.astype(np.int64),
            "c": draw(6, 1_000_000) / 100.0,
            "d": draw(7, 100_000),
        }
    )


def text_rows(count: int) -> pa.Table:
    """Return rows of an INT key, each once and in no order, and 20 texts of ten hex digits."""
    random = np.random.default_rng(1)
    columns: dict[str, npt.NDArray[np.generic]] = {"k": random.permutation(count).astype(np.int32)}
    for index in range(20):
        columns[f"c{index}"] = np.char.mod("%010x", random.integers(0, 1 << 40, count))
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def _mix(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        value = value + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: npt.NDArray[np.uint64] = value ^ (value >> np.uint64(31))
        return mixed
