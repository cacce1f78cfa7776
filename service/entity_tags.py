"""Entity tags, and the headers `if-match` and `if-none-match` that list them (RFC 9110, 8.8.3 and 13.1)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

ANYTHING: Final = "*"
# A tag may contain commas, so that the list cannot be split by them. An entry of the list may be empty.
_ENTRY: Final = re.compile(
    r'[ \t]*(?:(?P<weak>W/)?"(?P<opaque>[\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityTags:
    """The value of a header `if-match` or `if-none-match`.

    Attributes:
        is_any: Whether the header is `*`, which stands for every tag.
        strong: The opaque parts of the strong tags, without quotation marks.
        weak: The same of the weak tags (`W/"…"`).
    """

    is_any: bool = False
    strong: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()

    @property
    def opaque(self) -> frozenset[str]:
        """The opaque parts of all tags, by which weak comparison compares."""
        return self.strong | self.weak


def parse_entity_tags(lines: Iterable[str]) -> EntityTags:
    """Return the tags of a header, which may have come in several lines.

    >>> sorted(parse_entity_tags(['"a,b", W/"c"', '"d"']).opaque)
    ['a,b', 'c', 'd']

    Raises:
        ValueError: The header has something else than tags, or no tag.
    """
    text = ",".join(lines)
    if text.strip() == ANYTHING:
        return EntityTags(is_any=True)
    found: dict[bool, set[str]] = {False: set(), True: set()}
    at = 0
    while at < len(text):
        entry = _ENTRY.match(text, at)
        if entry is None:
            message = f"not an entity tag: {text[at : at + 40].strip()}"
            raise ValueError(message)
        if entry["opaque"] is not None:
            found[entry["weak"] is not None].add(entry["opaque"])
        at = entry.end()
    if not any(found.values()):
        message = "there is no entity tag"
        raise ValueError(message)
    return EntityTags(strong=frozenset(found[False]), weak=frozenset(found[True]))


def is_known(etag: str | None, if_none_match: str | None) -> bool:
    """Return whether a client has an answer already (RFC 9110, 13.1.2: weak comparison).

    A header that cannot be read is ignored: the client then gets the answer.

    >>> [is_known('W/"a"', header) for header in ('"b", W/"a"', '"a"', "*", '"b"', "a", None)]
    [True, True, True, False, False, False]
    """
    if etag is None or if_none_match is None:
        return False
    try:
        tags = parse_entity_tags([if_none_match])
    except ValueError:
        return False
    return tags.is_any or etag.removeprefix("W/").strip('"') in tags.opaque
