"""The benchmark of scans compares like with like: both readers see the same rows on every line."""

from pathlib import Path

import pytest

from benchmarks.scan.lines import Line, lines
from benchmarks.scan.tables import COMPACTED, DAYS, write_tables
from benchmarks.scan.worker import Ours, PlainArrow, answer
from braid.lake import Catalog

ROWS_OF_DAY = 500
LINES = lines(ROWS_OF_DAY)


@pytest.fixture(scope="module")
def table_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compacted table."""
    folder = tmp_path_factory.mktemp("scan")
    tables = write_tables(Catalog(str(folder)), rows=DAYS * ROWS_OF_DAY, names=(COMPACTED,))
    return Path(tables[COMPACTED].path)


@pytest.mark.parametrize("line", LINES, ids=[line.name for line in LINES])
def test_readers_agree(table_path: Path, line: Line) -> None:
    readers = (Ours(str(table_path)), PlainArrow(str(table_path)))
    ours, plain = (answer(reader, f"checksum {line.choice}") for reader in readers)

    assert ours == plain
    assert ours["rows"] > 0
