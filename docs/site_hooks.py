"""Hooks of mkdocs: folders in the navigation stand for their pages, and blocks of code have their language alone."""

import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

_INDEX = "README.md"
_FENCE = re.compile(r"^( *```\w+) .*$", re.MULTILINE)


def on_config(config: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Expand the folders in the navigation of a configuration, as mkdocs has read it."""
    config["nav"] = expanded(config["nav"], Path(config["docs_dir"]))
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Return a page as the site needs it.

    Blocks lose the words behind their languages, which are there for tests: the site's extension takes such a block for text.
    Links to files outside of the documentation, which the site does not have, become their texts.
    """
    up = page.file.src_uri.count("/") + 1
    outside = re.compile(rf"\[([^\]]*)\]\((?:\.\./){{{up},}}[^)]*\)")
    return outside.sub(r"\1", _FENCE.sub(r"\1", markdown))


def expanded(navigation: object, docs: Path) -> Any:
    """Return a navigation with the pages of folders instead of the folders.

    Args:
        navigation: Paths below `docs`, lists of them, and objects with a title for either. A folder ends in `/`, and stands
            for all of its pages that are not listed themselves.
        docs: The folder of the documentation.
    """
    return _expanded(navigation, docs, frozenset(pages_in(navigation)))


def pages_in(navigation: object) -> Iterator[str]:
    """Yield the paths of a navigation in order."""
    match navigation:
        case str():
            yield navigation
        case list():
            for one in navigation:
                yield from pages_in(one)
        case dict():
            for one in navigation.values():
                yield from pages_in(one)
        case _:
            message = f"expected paths, lists and titles, found {navigation!r}"
            raise TypeError(message)


def _expanded(navigation: object, docs: Path, listed: frozenset[str]) -> Any:
    match navigation:
        case str() if navigation.endswith("/"):
            return [page for page in _pages(docs / navigation, docs) if page not in listed]
        case list():
            parts = (_expanded(one, docs, listed) for one in navigation)
            return [part for part in parts if part]
        case dict():
            titled = ((title, _expanded(one, docs, listed)) for title, one in navigation.items())
            return {title: part for title, part in titled if part}
        case _:
            return navigation


def _pages(folder: Path, docs: Path) -> Iterator[str]:
    pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != _INDEX, page.name))
    for page in pages:
        yield str(page.relative_to(docs))
