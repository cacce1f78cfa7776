"""The page about troubles of pipelines names a test for each behaviour, and each named test exists."""

import re
from pathlib import Path
from typing import Final

import pytest

PAGE: Final = Path("docs/guides/pipeline-troubles.md").read_text(encoding="utf-8")
ROWS: Final = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| trouble")
]


def test_the_page_has_twenty_troubles() -> None:
    assert len(ROWS) == 20


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_behaviour_has_a_test_that_exists(row: list[str]) -> None:
    _, behaviour, test = row
    if behaviour == "*not yet*":
        assert not test
        return
    path, _, name = test.strip("`").partition("::")
    source = Path(path).read_text(encoding="utf-8")

    assert re.search(rf"^def {name}\(", source, re.MULTILINE)
