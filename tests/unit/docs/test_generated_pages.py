"""Generated reference pages: equal to the generator's output, one per engine and function, all traps."""

import dataclasses
from pathlib import Path

import pytest

from braid.lake.declaration.engine_declarations import ENGINES
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.options.table_options import OPTIONS
from docs.generate import ROOT
from docs.generator.function_examples import EXAMPLES
from docs.generator.pages import generated_pages
from docs.generator.trap_causes import CAUSES, by_cause
from docs.generator.traps import traps
from tests.unit.lake.merge.given_anomaly import ANOMALIES

REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return generated_pages(ROOT)


def test_every_committed_page_equals_the_output_of_the_generator(pages: dict[str, str]) -> None:
    stale = [
        place
        for place, text in pages.items()
        if not (ROOT / place).exists() or (ROOT / place).read_text(encoding="utf-8") != text
    ]

    assert stale == [], "`make docs` writes them"


@pytest.mark.parametrize(
    "folder", ["merge-engines", "aggregate-functions", "declarations", "operations"]
)
def test_no_page_of_what_was_removed_is_left(folder: str, pages: dict[str, str]) -> None:
    committed = {str(path.relative_to(ROOT)) for path in (REFERENCE / folder).iterdir()}

    assert committed <= set(pages)


def test_every_engine_and_every_function_has_a_page(pages: dict[str, str]) -> None:
    stems = {Path(place).stem for place in pages}

    assert {engine.value for engine in ENGINES} | set(FUNCTIONS) <= stems
    assert set(EXAMPLES) == set(FUNCTIONS)


def test_every_trap_has_an_example_and_links_from_its_engine_or_functions(
    pages: dict[str, str],
) -> None:
    assert len(traps()) == len(ANOMALIES) > 30
    for trap in traps():
        places = [f"aggregate-functions/{name}.md" for name in trap.functions] or [
            f"merge-engines/{trap.engine}.md"
        ]
        assert f"\n### {trap.title}\n" in pages["docs/reference/traps.md"]
        for place in [f"reference/{place}" for place in places]:
            assert f"traps.md#{trap.anchor})" in pages[f"docs/{place}"], trap.title


def test_every_trap_has_one_cause_and_the_guide_lists_every_cause(pages: dict[str, str]) -> None:
    named = [name for cause in CAUSES for name in cause.names]

    assert sorted(named) == sorted(ANOMALIES)
    for cause in CAUSES:
        assert f"\n## {cause.title}\n" in pages["docs/reference/traps.md"]
        assert f"traps.md#{cause.anchor})" in pages["docs/guides/which-row-wins.md"], cause.title


def test_a_trap_without_a_cause_is_an_error() -> None:
    stray = dataclasses.replace(traps()[0], name="stray")

    with pytest.raises(KeyError, match="stray"):
        by_cause([*traps(), stray])


def test_the_page_of_every_function_compares_it_with_paimon(pages: dict[str, str]) -> None:
    for name in FUNCTIONS:
        page = pages[f"docs/reference/aggregate-functions/{name}.md"]
        assert "## Compared with Apache Paimon 2.0" in page
        assert page.count("| record |") == len(EXAMPLES[name])


def test_every_option_has_a_row_with_its_meaning(pages: dict[str, str]) -> None:
    page = pages["docs/reference/options.md"]
    rows = [line for line in page.splitlines() if line.startswith("| `")]

    assert len(rows) == len(OPTIONS)
    for option in OPTIONS.values():
        assert f"| {option.doc} |" in page, option.key
