"""Functions that build Markdown: pages, sections, tables, lists."""

from collections.abc import Iterable, Sequence

MADE = "<!-- Generated from the code by `make docs`: change the code, not this page. -->"


def page(title: str, *parts: str | None) -> str:
    """Return a page of its parts, one blank line between them; None and empty parts are left out."""
    return "\n\n".join([f"# {title}", MADE, *(part for part in parts if part)]) + "\n"


def section(title: str, *parts: str | None) -> str | None:
    """Return a section of its parts; None when there are none."""
    kept = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *kept]) if kept else None


def subsection(title: str, *parts: str | None) -> str | None:
    """Return a section below a section; None when it has no parts."""
    text = section(title, *parts)
    return None if text is None else f"#{text}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str | None:
    """Return a table; None when it has no rows."""
    lines = [_row(row) for row in rows]
    if not lines:
        return None
    return "\n".join([_row(head), "|" + "---|" * len(head), *lines])


def bullets(items: Iterable[str]) -> str | None:
    """Return a list; None when it is empty."""
    return "\n".join(f"- {item}" for item in items) or None


def capital(text: str) -> str:
    """Return the sentence with a capital letter in front."""
    return text[0].upper() + text[1:]


def code(text: str) -> str:
    """Return the text as inline code."""
    return f"`{text}`"


def block(text: str, language: str = "text") -> str:
    """Return the lines as a code block."""
    return f"```{language}\n{text}\n```"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
