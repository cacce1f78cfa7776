"""Processes that commit to one table at the same time."""

import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from threading import Barrier

from braid.lake.commit.commit_result import Outcome
from braid.lake.commit.committer import TableCommitter
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import (
    appended,
    data_file,
    given_table,
    live_names,
    referenced_manifests,
    stored_manifests,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """An acknowledged commit.

    Attributes:
        file_name: Of the file that it committed.
        snapshot_id: Of the snapshot that has it.
    """

    file_name: str
    snapshot_id: int


def commit_beside(
    file_io: FileIO, root: str, *, writers: int, commits: int, processes: BaseContext
) -> list[Acknowledged]:
    """Run processes that commit to one table; every acknowledged commit must be in it.

    Args:
        file_io: Storage; is sent to the processes.
        root: Of the table.
        writers: The number of processes.
        commits: Of each process.
        processes: Starts them.
    """
    paths = given_table(file_io, root)
    with (
        processes.Manager() as manager,
        ProcessPoolExecutor(writers, mp_context=processes) as pool,
    ):
        start = manager.Barrier(writers)
        tasks = [
            pool.submit(_commit_many, file_io, root, number, commits, start)
            for number in range(writers)
        ]
        acknowledged = [item for task in tasks for item in task.result()]

    snapshots = SnapshotStore(file_io, paths)
    assert len(acknowledged) == writers * commits
    assert snapshots.list_ids() == list(range(1, writers * commits + 1))
    assert Counter(one.snapshot_id for one in acknowledged).most_common(1)[0][1] == 1
    assert live_names(file_io, paths) == sorted(one.file_name for one in acknowledged)
    assert stored_manifests(file_io, paths) == referenced_manifests(file_io, paths)
    return acknowledged


def _commit_many(
    file_io: FileIO, root: str, writer: int, commits: int, start: Barrier
) -> list[Acknowledged]:
    committer = TableCommitter(file_io, TablePaths(root), random=random.Random(writer))
    start.wait()
    acknowledged = []
    for number in range(commits):
        name = f"{writer}-{number}"
        result = committer.commit(
            [appended(data_file(name), bucket=number % 2)],
            commit_user=f"writer-{writer}",
            commit_identifier=number,
        )
        assert result.outcome is Outcome.COMMITTED
        assert result.snapshot_id is not None
        acknowledged.append(Acknowledged(file_name=name, snapshot_id=result.snapshot_id))
    return acknowledged
