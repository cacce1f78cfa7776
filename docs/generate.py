"""Writes the reference pages that are made from the code: `python -m docs.generate`."""

import sys
from pathlib import Path

from docs.generator.pages import generated_pages

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write every page that is not as the code says, and name it."""
    for place, text in generated_pages(ROOT).items():
        path = ROOT / place
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{place}\n")


if __name__ == "__main__":
    main()
