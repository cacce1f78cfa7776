"""The index of the decisions lists each of them with its title."""

from tests.support.doc_examples import ROOT

DECISIONS = ROOT / "docs" / "decisions"


def test_the_index_lists_every_decision_with_its_title() -> None:
    lines = []
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        heading, _, _ = path.read_text(encoding="utf-8").partition("\n")
        number, _, title = heading.removeprefix("# ").partition(": ")
        assert path.name.startswith(f"{number}-"), path.name
        lines.append(f"- [{number}]({path.name}): {title}")

    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    assert [line for line in index.splitlines() if line.startswith("- ")] == lines
