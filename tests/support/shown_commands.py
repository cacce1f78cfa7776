"""Commands that pages show in blocks of a shell: those of blocks that a test runs as they are, and all others."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.doc_examples import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELLS = ("bash", "sh", "console")
_BLOCK = re.compile(
    r"^( *)(?:<!-- example: (?P<kind>[^>]+?) -->\n *)?```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^ *```",
    re.MULTILINE | re.DOTALL,
)
_SETTING = re.compile(r"(export )?[A-Z]\w*=")
_PROMPT = "$ "
_PROGRAMS = ("braid", "curl", "make", "docker", "pip", "python", "spark-submit", "kubectl")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCommand:
    """A command that no test runs with its block.

    Attributes:
        page: The page, below the root of the repository.
        text: The command in one line.
    """

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words of the command; variables stay as they are."""
        return shlex.split(self.text, comments=True)


def shown_commands() -> Iterator[ShownCommand]:
    """Yield the commands of all blocks of a shell that are not marked as examples."""
    for page in PAGES:
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            if block["kind"] is None and block["language"] in SHELLS:
                yield from _commands(page, block["text"], is_session=block["language"] == "console")


def hidden_commands() -> Iterator[str]:
    """Yield the lines of blocks of no language that look like commands."""
    for page in PAGES:
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            for line in block["text"].splitlines() if not block["language"] else ():
                if line.startswith(tuple(f"{program} " for program in ("$", *_PROGRAMS))):
                    yield f"{page.name}: {line}"


def _commands(page: Path, text: str, *, is_session: bool) -> Iterator[ShownCommand]:
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        command = line.removeprefix(_PROMPT).strip()
        is_output = is_session and not line.startswith(_PROMPT)
        if (
            command
            and not is_output
            and not command.startswith("#")
            and not _SETTING.match(command)
        ):
            yield ShownCommand(page=str(page.relative_to(ROOT)), text=command)
