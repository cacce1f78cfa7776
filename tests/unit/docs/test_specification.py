"""Sections of the specification that docstrings and comments name exist."""

import re

import pytest

from tests.support.doc_examples import ROOT

PAGES = ("merge-semantics", "table-format", "merge-cases")
FOLDERS = (
    "lake",
    "registry",
    "pipelines",
    "records",
    "service",
    "formats",
    "schemas",
    "docs",
    "tests",
)
NUMBER = r"\d+(?:\.\d+)*"
CASE = r"[A-Z]{1,2}\d+"
NAMED = re.compile(
    rf"({'|'.join(PAGES)})`? ({NUMBER}(?:(?:, | and | to |, for ids ){NUMBER}(?![\w(]))*)",
    re.IGNORECASE,
)
CASES = re.compile(rf"merge-cases ({CASE}(?:(?:, | and | to ){CASE})*)", re.IGNORECASE)


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """Return the text of every Python file in one line, without comment signs."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return {
        str(path.relative_to(ROOT)): re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text("utf-8"))
        for path in paths
    }


def page(name: str) -> str:
    return (ROOT / "docs" / "specification" / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_every_section_that_a_source_names_exists(name: str, sources: dict[str, str]) -> None:
    sections = set(re.findall(rf"^#+ ({NUMBER})\.? ", page(name), re.MULTILINE))
    named = {
        (place, section)
        for place, text in sources.items()
        for found, numbers in NAMED.findall(text)
        if found.lower() == name
        for section in re.findall(NUMBER, numbers)
    }

    assert named
    assert [(place, section) for place, section in sorted(named) if section not in sections] == []


def test_every_case_that_a_test_names_exists(sources: dict[str, str]) -> None:
    cases = set(re.findall(rf"^\|? ?({CASE})\b", page("merge-cases"), re.MULTILINE))
    named = {
        (place, case)
        for place, text in sources.items()
        for found in CASES.findall(text)
        for case in re.findall(CASE, found)
    }

    assert named
    assert [(place, case) for place, case in sorted(named) if case not in cases] == []
