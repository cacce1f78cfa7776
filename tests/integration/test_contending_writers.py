"""Writers of disjoint columns, each in a process of its own, commit back to back beside compaction and expiry."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.contention.bed import Load
from benchmarks.contention.race import run_race
from benchmarks.contention.report import missing_snapshots
from braid.demo.s3_server import S3Server
from braid.lake import FileIO, LocalFileIO
from tests.support.s3_storage import s3_file_io

pytestmark = pytest.mark.integration


def test_writers_beside_compaction_lose_nothing(tmp_path: Path) -> None:
    raced(LocalFileIO(), str(tmp_path), Load(writers=8, commits=30, keys=500, seed=7))


@pytest.mark.soak
def test_ten_thousand_commits_of_many_writers_lose_nothing(tmp_path: Path) -> None:
    raced(LocalFileIO(), str(tmp_path), Load(writers=64, commits=157, seed=8))


@pytest.mark.soak
def test_writers_on_an_object_store_lose_nothing(s3_server: S3Server, tmp_path: Path) -> None:
    warehouse = f"s3://{s3_server.bucket}{tmp_path}"
    raced(s3_file_io(s3_server), warehouse, Load(writers=16, commits=25, seed=9))


def raced(file_io: FileIO, warehouse: str, load: Load) -> None:
    """Run a race: every commit has a snapshot of its own, and the table is what was written."""
    race = run_race(file_io, warehouse, load)
    counts = Counter(len(writer.commits) for writer in race.writers)
    assert counts == {load.commits: load.writers}
    assert missing_snapshots(race) == 0
    assert race.different == 0
