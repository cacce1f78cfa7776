"""Examples of the documentation: blocks below a mark, and what they print.

`<!-- example: python -->` marks a block that runs. What it prints stands in a `text` block right
below, or, line by line, in letters of code in the paragraph that follows. Blocks of one page run one
after another, as a reader would type them. `<!-- example: file name -->` marks a file.
"""

import contextlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(
    r"<!-- example: (?P<kind>[^>]+?) -->\n```(?P<language>\w+)\n(?P<text>.*?)```\n(?P<after>.*?)"
    r"(?=\n<!-- example|\n#|\Z)",
    re.DOTALL,
)
_PRINTED = re.compile(r"\A\n```text\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocExample:
    """A marked block.

    Attributes:
        kind: What the mark says: a language, or `file` and a name.
        text: The block.
        after: What the page says between the block and the next one, or the next heading.
    """

    kind: str
    text: str
    after: str

    @property
    def printed(self) -> str | None:
        """What the page says that is printed, when it is a block of its own."""
        found = _PRINTED.match(self.after)
        return found.group(1) if found else None


def doc_examples(page: Path, kind: str) -> list[DocExample]:
    """Return the marked blocks of a page whose kind is, or begins with, a word."""
    blocks = _BLOCK.finditer(page.read_text(encoding="utf-8"))
    examples = [
        DocExample(kind=block["kind"], text=block["text"], after=block["after"]) for block in blocks
    ]
    return [example for example in examples if example.kind.split()[0] == kind]


def pages_with(kind: str) -> list[Path]:
    """Return the pages that have such a block."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if doc_examples(page, kind)]


def run_python(
    page: Path, names: Mapping[str, object] | None = None, *, kind: str = "python"
) -> Mapping[str, object]:
    """Run the Python blocks of a page; assert that each prints what the page says.

    Args:
        page: The page.
        names: What the first block finds defined.
        kind: What the marks of the blocks say.

    Returns:
        What is defined in the end.
    """
    scope = {"__name__": "__main__", **(names or {})}
    for number, example in enumerate(doc_examples(page, kind), start=1):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(example.text, f"{page.name}, example {number}", "exec"), scope)
        _assert_said(output.getvalue(), example, f"{page.name}, example {number}")
    return scope


def _assert_said(printed: str, example: DocExample, place: str) -> None:
    if example.printed is not None:
        assert printed == example.printed, place
        return
    for line in printed.splitlines():
        assert f"`{line}`" in example.after, f"{place} prints {line}"
