"""pypaimon, in its own environment, reads what Java wrote."""

import json
import shutil
from pathlib import Path

import pytest

from tests.interop import pypaimon_reader

TABLES = Path(__file__).with_name("tables")

pytestmark = pytest.mark.interop


def test_rows_of_a_golden_table_are_the_recorded_ones(tmp_path: Path) -> None:
    shutil.copytree(TABLES / "g04_dv_v142" / "table", tmp_path / "t.db" / "golden")
    recorded = json.loads((TABLES / "g04_dv_v142" / "expected.json").read_text())

    read = pypaimon_reader.read_table(tmp_path, "t.golden")

    rows = [list(row.values()) for row in read.to_pylist()]
    assert sorted(rows) == recorded["final_rows"]


def test_an_unknown_table_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(pypaimon_reader.PypaimonFailed, match=r"t\.nothing"):
        pypaimon_reader.read_table(tmp_path, "t.nothing")
