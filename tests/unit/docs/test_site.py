"""The site of the documentation: its navigation has every page, and it builds without a warning and without outside resources."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from docs.site_hooks import expanded, on_page_markdown, pages_in
from tests.support.doc_examples import ROOT

DOCS = ROOT / "docs"
_OUTSIDE = re.compile(
    r'<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//|<link[^>]*rel="(?:stylesheet|preconnect|icon)"[^>]*href="(?:https?:)?//'
    r"|@import\s+url\(['\"]?(?:https?:)?//"
)


def _configuration() -> dict[str, Any]:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    # Only mkdocs makes the objects of Python that a tag names.
    found: dict[str, Any] = yaml.safe_load(re.sub(r"!!python\S+ ", "", text))
    return found


def test_the_navigation_has_every_page_once() -> None:
    listed = list(pages_in(expanded(_configuration()["nav"], DOCS)))

    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert pages - set(listed) == set()
    assert sorted(listed) == sorted(pages)


def test_a_folder_stands_for_the_pages_that_are_not_listed_with_the_index_first(
    tmp_path: Path,
) -> None:
    (tmp_path / "how-to").mkdir()
    (tmp_path / "empty").mkdir()
    for name in ("b.md", "README.md", "a.md", "listed.md"):
        (tmp_path / "how-to" / name).touch()

    found = expanded(["how-to/listed.md", {"Tasks": "how-to/"}, {"None": "empty/"}], tmp_path)

    tasks = ["how-to/README.md", "how-to/a.md", "how-to/b.md"]
    assert found == ["how-to/listed.md", {"Tasks": tasks}]


def test_blocks_of_code_have_their_language_alone() -> None:
    page = _page("guides/a.md")

    assert on_page_markdown("```json table\n{}\n```\n", page=page) == "```json\n{}\n```\n"


def test_links_out_of_the_documentation_become_text() -> None:
    text = "[rules](../../observability/prometheus/alerts.yml), [a page](../glossary.md)"

    assert on_page_markdown(text, page=_page("guides/a.md")) == "rules, [a page](../glossary.md)"
    assert on_page_markdown("[code](../README.md)", page=_page("index.md")) == "code"


def _page(path: str) -> SimpleNamespace:
    return SimpleNamespace(file=SimpleNamespace(src_uri=path))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("material") is None, reason="mkdocs-material is not installed")
def test_the_site_builds_without_warnings_and_asks_no_other_host(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 100
    for page in [*pages, *tmp_path.rglob("*.css")]:
        assert not _OUTSIDE.search(page.read_text(encoding="utf-8")), page
