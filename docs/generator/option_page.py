"""The reference page of table options, from their declarations."""

from collections.abc import Iterable
from typing import Any

from braid.lake.options.option_declaration import Option
from docs.generator.markdown import code, page, table

PAGE = "docs/reference/options.md"

_INTRODUCTION = (
    "The options of a table are texts by key; a table gets them from its declaration or from `options` of "
    "`Catalog.create_table`. This page lists the options that Braid knows; an invalid value is refused "
    "when the table is created, altered or opened. Other options stay in the table's schema for other "
    "engines of the format. Sizes have the units `b`, `kb`, `mb`, `gb` and `tb`; durations have `ms`, `s`, "
    "`min`, `h` and `d`."
)
_FAMILIES = (
    "Two families of options are on other pages. Options of single columns, `fields.<column>.…`, are on the "
    "pages of the [merge engines](merge-engines/README.md) and "
    "[aggregate functions](aggregate-functions/README.md). Options of indexes, `file-index.bloom-filter.…`, "
    "are in the guide to [bloom filters](../guides/bloom-filters.md). A declaration over HTTP may set some of "
    "the options, within bounds; a declaration with another option is refused."
)


def option_page(options: Iterable[Option[Any]]) -> str:
    """Return the page of all options, in the order of their keys."""
    rows = [_row(option) for option in sorted(options, key=lambda option: option.key)]
    return page(
        "Table options",
        _INTRODUCTION,
        _FAMILIES,
        table(("option", "value", "default", "meaning"), rows),
    )


def _row(option: Option[Any]) -> tuple[str, str, str, str]:
    older = f" (older: {', '.join(map(code, option.fallbacks))})" if option.fallbacks else ""
    return code(option.key) + older, option.parser.expected, option.shown_default, option.doc
