"""Write amplification after many small commits: bytes of all data files that were written, divided by the bytes of level 0.

Both sides write the same rows in the same commits, and after each commit compact what is due, with
the same options. The written files are taken from the snapshots, so a file that was only moved to
another level counts once.
"""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.bulk_rows import GROUPED_COLUMNS, GROUPED_OPTIONS, grouped_rows
from benchmarks.figure import best_s
from braid.lake import Catalog, CommitKind, Snapshot, Table
from braid.lake.format.manifest import FileKind
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.interop.java_reader import write_bulk

COMMITS = 200
ROWS_OF_A_COMMIT = 5_000
KEYS = 250_000
_OPTIONS = {"fields.d.aggregate-function": "sum", "write-only": "false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a table's snapshots say was written.

    Attributes:
        appended: Bytes of the files of appends.
        compacted: Bytes of the files of compactions.
        runs_max: The most sorted runs that a snapshot had.
        runs: Those of the newest.
        read_s: Seconds of reading all rows with our reader, at the end.
    """

    appended: int
    compacted: int
    runs_max: int
    runs: int
    read_s: float

    @property
    def amplification(self) -> float:
        """Return how often a byte was written."""
        return (self.appended + self.compacted) / self.appended


def measure_amplification(folder: Path) -> dict[str, Written]:
    """Return what each side writes, by its name."""
    table = Catalog(str(folder)).create_table(
        "bench.amplification",
        columns=GROUPED_COLUMNS,
        primary_key=["k"],
        options={**GROUPED_OPTIONS, **_OPTIONS},
    )
    memory = CompactionMemory()
    for number in range(COMMITS):
        first = number * ROWS_OF_A_COMMIT
        table.write_and_commit(grouped_rows(first, ROWS_OF_A_COMMIT, keys=KEYS))
        table.compact(full=False, memory=memory)
    java = folder / "java"
    rows = COMMITS * ROWS_OF_A_COMMIT
    write_bulk(java, rows=rows, keys=KEYS, commits=COMMITS, options=_OPTIONS)
    return {"ours": written(table), "the reference": written(Table.open(str(java)))}


def written(table: Table) -> Written:
    """Return what the snapshots of a table say, of which none has expired."""
    snapshots = SnapshotStore(table.file_io, table.paths)
    manifests = ManifestStore(table.file_io, table.paths)
    seen: set[str] = set()
    sizes = dict.fromkeys(CommitKind, 0)
    runs = [0]
    for number in snapshots.list_ids():
        snapshot = snapshots.get(number)
        for manifest in manifests.read_list(snapshot.delta_manifest_list):
            for entry in manifests.read_manifest(manifest.file_name):
                if entry.kind is FileKind.ADD and entry.file.file_name not in seen:
                    seen.add(entry.file.file_name)
                    sizes[snapshot.commit_kind] += entry.file.file_size
        runs.append(_runs(table, snapshot))
    return Written(
        appended=sizes[CommitKind.APPEND],
        compacted=sizes[CommitKind.COMPACT],
        runs_max=max(runs),
        runs=runs[-1],
        read_s=best_s(lambda: table.scan().to_arrow(), repeats=3),
    )


def _runs(table: Table, snapshot: Snapshot) -> int:
    levels = [entry.file.level for entry in table.live_files(snapshot)]
    return levels.count(0) + len({level for level in levels if level})
