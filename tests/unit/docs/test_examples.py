"""The examples of every page, run: each prints the output that the page shows."""

import tempfile
from pathlib import Path

import pytest

from tests.support.doc_examples import ROOT, doc_examples, pages_with, run_python

OWN_FUNCTION = ROOT / "docs" / "guides" / "custom-aggregate-functions.md"
"""Its examples need the package that the page shows: see `test_custom_aggregate_functions_guide`."""

PAGES = [page for page in pages_with("python") if page != OWN_FUNCTION]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_the_output_of_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    run_python(page)


def test_examples_are_found_on_the_main_pages() -> None:
    names = {page.name for page in PAGES}

    assert {
        "README.md",
        "changelog.md",
        "compaction.md",
        "deletion-vectors.md",
        "which-row-wins.md",
    } <= names


def test_every_example_of_the_guide_to_merging_shows_its_output() -> None:
    page = ROOT / "docs" / "guides" / "which-row-wins.md"

    set_up, *examples = doc_examples(page, "python")
    assert "print(" in set_up.text
    assert [example.text for example in examples if example.printed is None] == []
