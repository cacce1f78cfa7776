"""Small tables to rescale, and readings of the result."""

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from braid.lake import Catalog, Clock, FileIO, ManualClock, Table
from braid.lake.format.snapshot import Snapshot

PATH = "/wh/db.db/t"
_SEEDS = itertools.count(1_000)


def given_table(
    file_io: FileIO, options: Mapping[str, str], *, partition: Sequence[str] = ()
) -> Table:
    """Return an empty table (p STRING, k INT, v INT)."""
    catalog = Catalog("/wh", file_io=file_io, clock=ManualClock(), random=random.Random(11))
    return catalog.create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT")],
        primary_key=["p", "k"],
        partition_keys=partition,
        options=options,
    )


def reopened(file_io: FileIO, *, clock: Clock | None = None) -> Table:
    """Open the table as another process does, which uses other file names."""
    return Table.open(
        PATH, file_io=file_io, clock=clock or ManualClock(), random=random.Random(next(_SEEDS))
    )


def rows(*values: tuple[int, int | None], p: str = "x") -> pa.Table:
    """Return rows of (k, v)."""
    return pa.table(
        {
            "p": pa.array([p] * len(values), pa.string()),
            "k": pa.array([k for k, _ in values], pa.int32()),
            "v": pa.array([v for _, v in values], pa.int32()),
        }
    )


def write(table: Table, *values: tuple[int, int | None], p: str = "x") -> int:
    """Commit rows of (k, v) and return the snapshot's id."""
    return table.write_and_commit(rows(*values, p=p)).snapshot_id


def read(table: Table) -> list[tuple[object, ...]]:
    """Return all rows as (p, k, v), sorted."""
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def totals(table: Table) -> set[int]:
    """Return the bucket counts of the live files."""
    return {entry.total_buckets for entry in table.live_files(newest(table))}


def newest(table: Table) -> Snapshot:
    """Return the newest snapshot, which must exist."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot


def named(table: Table) -> set[str]:
    """Return the names of the live files and of their extra files."""
    return {
        name
        for entry in table.live_files(newest(table))
        for name in (entry.file.file_name, *entry.file.extra_files)
    }


def names(paths: Iterable[str]) -> set[str]:
    """Return the last parts of paths."""
    return {path.rsplit("/", 1)[1] for path in paths}


def stored(file_io: FileIO, path: str = PATH) -> set[str]:
    """Return the paths of all data files."""
    found: set[str] = set()
    for status in file_io.list(path):
        if status.is_directory:
            found |= stored(file_io, status.path)
        elif status.name.startswith("data-"):
            found.add(status.path)
    return found
