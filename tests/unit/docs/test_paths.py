"""Paths that pages name exist."""

import re
from pathlib import Path

import pytest

from tests.support.doc_examples import ROOT

PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "tests/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PACKAGES = "benchmarks|braid|client|demo|docs|formats|lake|pipelines|records|registry|schemas|service|tests"
NAMED = re.compile(rf"`((?:{PACKAGES})/[\w./-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_named_path_of_the_repository_exists(page: Path) -> None:
    named = NAMED.findall(page.read_text(encoding="utf-8"))

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_architecture_names_the_files_on_both_ways() -> None:
    named = NAMED.findall((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))

    assert {"pipelines/stream/ingest.py", "lake/commit/commit_run.py"} <= set(named)
    assert {"service/routes/rows.py", "lake/read/lookup/bucket_rows.py"} <= set(named)
