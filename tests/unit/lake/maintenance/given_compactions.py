"""Tables with something to compact, and readings of the result."""

import itertools
import random
from collections.abc import Mapping, Sequence

import pyarrow as pa

from braid.lake import Catalog, FileIO, ManualClock, MemoryFileIO, Table
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.manifest import ManifestEntry
from tests.given_tables import given_kinds

WAREHOUSE = "/wh"
PATH = f"{WAREHOUSE}/db.db/t"
_SEEDS = itertools.count(100)


def given_table(
    options: Mapping[str, str] | None = None,
    *,
    file_io: FileIO | None = None,
    partition: Sequence[str] = (),
) -> Table:
    """Create a table (p STRING, k INT, v INT, w STRING) with one bucket by default."""
    return Catalog(
        WAREHOUSE, file_io=file_io or MemoryFileIO(), clock=ManualClock(), random=random.Random(5)
    ).create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT"), ("w", "STRING")],
        primary_key=["p", "k"],
        partition_keys=partition,
        options={"bucket": "1", **(options or {})},
    )


def reopened(file_io: FileIO) -> Table:
    """Open the table as another process does, which uses other file names."""
    return Table.open(
        PATH, file_io=file_io, clock=ManualClock(), random=random.Random(next(_SEEDS))
    )


def rows(*values: tuple[object, ...], p: str = "x") -> pa.Table:
    """Return rows of (k, v, w); values that are left out at the end are null."""
    full = [(*value, None, None)[:3] for value in values]
    return pa.table(
        {
            "p": pa.array([p] * len(full), pa.string()),
            "k": pa.array([row[0] for row in full], pa.int32()),
            "v": pa.array([row[1] for row in full], pa.int32()),
            "w": pa.array([row[2] for row in full], pa.string()),
        }
    )


def write(table: Table, *values: tuple[object, ...], kinds: str | None = None, p: str = "x") -> int:
    """Commit rows of (k, v, w) and return the snapshot's id."""
    return table.write_and_commit(rows(*values, p=p), kinds=given_kinds(kinds)).snapshot_id


def read(table: Table, snapshot_id: int | None = None) -> list[tuple[object, ...]]:
    """Return all rows as (p, k, v, w), sorted."""
    found = table.scan(at=snapshot_id).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def live(table: Table) -> list[ManifestEntry]:
    """Return the entries of the newest snapshot."""
    snapshot = table.latest_snapshot()
    return [] if snapshot is None else table.live_files(snapshot)


def levels(table: Table) -> list[int]:
    """Return the levels of the live files, sorted."""
    return sorted(entry.file.level for entry in live(table))


def files(table: Table) -> list[DataFileMeta]:
    """Return the live files by name."""
    return sorted((entry.file for entry in live(table)), key=lambda file: file.file_name)


def stored_data_files(file_io: FileIO, path: str = PATH) -> set[str]:
    """Return the names of all data files on storage."""
    names: set[str] = set()
    for status in file_io.list(path):
        if status.is_directory:
            names |= stored_data_files(file_io, status.path)
        elif status.name.startswith("data-"):
            names.add(status.name)
    return names
