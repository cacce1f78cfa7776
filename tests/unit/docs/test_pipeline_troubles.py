"""The page about troubles of pipelines names a test for each behaviour; each named test exists."""

import re
from pathlib import Path
from typing import Final

import pytest

PAGE: Final = Path("docs/guides/pipeline-troubles.md").read_text(encoding="utf-8")


def rows_of(section: str) -> list[list[str]]:
    """Return the rows of a table, without its head."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


TROUBLES: Final = rows_of(PAGE.partition("## Faults")[0])
FAULTS: Final = rows_of(PAGE.partition("## Faults")[2])
ROWS: Final = TROUBLES + FAULTS


def test_the_page_has_twenty_troubles() -> None:
    assert len(TROUBLES) == 20


def test_the_page_has_seventeen_faults() -> None:
    assert len(FAULTS) == 17


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_behaviour_has_a_test_that_exists(row: list[str]) -> None:
    _, behaviour, test = row
    if behaviour == "*not yet*":
        assert not test
        return
    path, _, name = test.strip("`").partition("::")
    source = Path(path).read_text(encoding="utf-8")

    assert re.search(rf"^def {name}\(", source, re.MULTILINE)
