"""Each act of the benchmark of metadata does its work on a table that the benchmark makes."""

from pathlib import Path

import pytest

from benchmarks.metadata import table as tables
from benchmarks.metadata.acts import ACTS
from benchmarks.metadata.table import FILES_PER_BUCKET, Size, write_table
from braid.lake import Table


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "LOADS", 2)
        patch.setattr(tables, "ROUNDS", 6)
        return write_table(tmp_path_factory.mktemp("metadata"), Size(files=16, columns=4))


def test_the_table_has_the_files_of_its_history(path: Path) -> None:
    table = Table.open(str(path))
    snapshot = table.latest_snapshot()
    assert snapshot is not None

    top = [entry for entry in table.live_files(snapshot) if entry.file.level > 0]

    assert snapshot.id == 2 + 2 * 6
    assert len(top) == 2 * FILES_PER_BUCKET
    assert all(len(entry.file.value_stats.null_counts) == 5 for entry in top)


@pytest.mark.parametrize("act", ACTS)
def test_acts_can_be_repeated(path: Path, act: str) -> None:
    prepared = ACTS[act](lambda: Table.open(str(path)))

    for _ in range(2):
        prepared.before()
        prepared.work()
