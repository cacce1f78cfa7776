"""Command `python -m docs.generate`, which writes the generated reference pages."""

import sys
from pathlib import Path

from docs.generator.pages import generated_pages

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write every page whose text differs from the generated one, and print its path."""
    for place, text in generated_pages(ROOT).items():
        path = ROOT / place
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{place}\n")


if __name__ == "__main__":
    main()
