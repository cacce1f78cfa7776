"""A wide table with a sequence group for each of many streams, and what every stream writes to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake import Catalog, FileIO, Table

TABLE: Final = "bench.wide"
BUCKETS: Final = 1
ZIPF: Final = 1.2
"""Exponent of the distribution of keys: a fifth of all records have the most frequent key."""
MOST_FREQUENT: Final = 0
"""The key with rank 1."""
_LATE_SHARE: Final = 0.1
_LATE_MAX: Final = 200

Newest = dict[int, int]
"""By key, the highest version that a stream has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What every writer does.

    Attributes:
        writers: Streams.
        processes: Processes that they are spread over; None: each has a process of its own.
        commits: Of each stream.
        records: Of each commit.
        keys: Keys of the table, drawn by the Zipf distribution.
        interval_s: Seconds between two commits of a stream; 0: the next one begins at once.
        is_aligned: Whether the intervals of all streams begin at the same moment, as triggers of Spark do.
        seed: Of everything that is drawn.
    """

    writers: int
    commits: int
    records: int = 20
    keys: int = 10_000
    interval_s: float = 0.0
    is_aligned: bool = False
    processes: int | None = None
    seed: int = 1


def stream_name(writer: int) -> str:
    """Return the name of a writer's stream."""
    return f"s{writer:02}"


def create_table(warehouse: str, file_io: FileIO, *, writers: int) -> Table:
    """Create the table: a key, and of each stream an ordering column and a value in a sequence group."""
    names = [stream_name(writer) for writer in range(writers)]
    return Catalog(warehouse, file_io=file_io).create_table(
        TABLE,
        columns=[
            ("id", "BIGINT"),
            *((f"{name}_{part}", "BIGINT") for name in names for part in ("version", "value")),
        ],
        primary_key=["id"],
        options={
            "bucket": str(BUCKETS),
            "merge-engine": "partial-update",
            "snapshot.num-retained.min": "50",
            "snapshot.num-retained.max": "200",
            **{f"fields.{name}_version.sequence-group": f"{name}_value" for name in names},
        },
    )


def batches(load: Load, writer: int) -> Iterator[pa.Table]:
    """Yield the rows of each commit of a writer, (id, version, value); some versions are late.

    Equal versions of a key have equal values, so that the highest version decides.
    """
    drawn = np.random.default_rng([load.seed, writer])
    name = stream_name(writer)
    for number in range(load.commits):
        ids = _zipf(drawn, load)
        version = 1 + np.arange(number * load.records, (number + 1) * load.records)
        late = drawn.random(load.records) < _LATE_SHARE
        version = np.maximum(1, version - late * drawn.integers(1, _LATE_MAX, load.records))
        value = value_of(writer, ids, version)
        columns = {"id": ids, f"{name}_version": version, f"{name}_value": value}
        yield pa.table({column: pa.array(data, pa.int64()) for column, data in columns.items()})


def value_of(
    writer: int, ids: npt.NDArray[np.int64], version: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the values that belong to versions of keys."""
    return (ids * 1_000_003 + version) * 64 + writer


def keep_newest(newest: Newest, rows: pa.Table, writer: int) -> None:
    """Add rows to what a stream has written."""
    name = stream_name(writer)
    versions = rows[f"{name}_version"].to_pylist()
    for key, version in zip(rows["id"].to_pylist(), versions, strict=True):
        newest[key] = max(version, newest.get(key, 0))


def different_cells(table: Table, written: list[Newest]) -> int:
    """Return how many values of a table are not those that the streams have written; 0 is the aim.

    Args:
        table: The table.
        written: By writer, what its stream has written.
    """
    rows = table.scan().to_arrow()
    found = rows["id"].to_pylist()
    different = len(set().union(*written) ^ set(found)) + len(found) - len(set(found))
    ids = np.array(found, np.int64)
    for writer, newest in enumerate(written):
        version = np.array([newest.get(key, 0) for key in found], np.int64)
        has_value = version > 0
        expected = (version, value_of(writer, ids, version))
        for part, wanted in zip(("version", "value"), expected, strict=True):
            column = rows[f"{stream_name(writer)}_{part}"]
            is_there = column.is_valid().to_numpy()
            values = column.fill_null(0).to_numpy()
            different += int(np.sum((is_there != has_value) | (has_value & (values != wanted))))
    return different


def _zipf(drawn: np.random.Generator, load: Load) -> npt.NDArray[np.int64]:
    # Ranks beyond the last key are folded back: the tail of the distribution has no end.
    ranks = drawn.zipf(ZIPF, load.records) - 1
    return (ranks % load.keys).astype(np.int64)
