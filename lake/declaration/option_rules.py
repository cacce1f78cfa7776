"""Rules for a few options outside of merging; the other such options have modules of their own.

The rules are for options that repeat the declaration, the type of table, three booleans, `target-file-size` and
`dynamic-bucket.initial-buckets`.

The rules are checked when a table is created, altered or rescaled. A table from another engine is read and
written although it breaks them, as long as its options can be parsed.

Source: merge-semantics 8.4, 9. In the reference the options `primary-key` and `partition` declare keys in place
of the schema's lists; a table with both is refused there.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from braid.lake.errors import Problem
from braid.lake.options.option_parsers import parse_size

_LONG_MAX: Final = (1 << 63) - 1
_INT_MAX: Final = (1 << 31) - 1
_COUNT: Final = re.compile(r"\+?[0-9]{1,30}")
_DECLARED_ELSEWHERE: Final = {
    "primary-key": "name the columns in `primary_key`",
    "partition": "name the columns in `partition_keys`",
    "path": "leave it out: the location follows from the warehouse and the table's name",
}
_TABLE: Final = "table"
_FLAGS: Final = ("auto-create", "chain-table.enabled", "streaming-read-overwrite")
"""Booleans that `TableOptions` does not read; the reference reads them when it creates a table."""


def option_problems(options: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of options that concern neither keys nor merging."""
    for key, hint in _DECLARED_ELSEWHERE.items():
        if key in options:
            yield Problem(
                field=key,
                value=options[key],
                message="this is a part of the declaration, not an option",
                hint=hint,
            )
    if options.get("type", _TABLE).lower() != _TABLE:
        yield Problem(
            field="type",
            value=options["type"],
            message="only tables of type `table` can be created",
            hint="leave it out",
        )
    for key in _FLAGS:
        if options.get(key, "false").lower() not in ("true", "false"):
            yield Problem(field=key, value=options[key], message="expected true or false")
    yield from _size_problems("target-file-size", options)
    yield from _count_problems("dynamic-bucket.initial-buckets", options)


def _size_problems(key: str, options: Mapping[str, str]) -> Iterator[Problem]:
    # What cannot be parsed is reported by `TableOptions.parse`.
    size = parse_size(options.get(key, "1"))
    if size is not None and not 1 <= size <= _LONG_MAX:
        yield Problem(
            field=key,
            value=options[key],
            message=f"expected a size from 1 to {_LONG_MAX} bytes",
            hint="for example `128 mb`, the default",
        )


def _count_problems(key: str, options: Mapping[str, str]) -> Iterator[Problem]:
    text = options.get(key, "1")
    if not _COUNT.fullmatch(text) or not 1 <= int(text) <= _INT_MAX:
        yield Problem(
            field=key,
            value=options[key],
            message=f"expected a whole number from 1 to {_INT_MAX}",
            hint="leave it out for buckets that are created as needed",
        )
