"""Pages of an ordered list, and their tokens. Pure.

A token has the place of the last entry of its page: the value by which the list is ordered, and the name. The next page
begins after that place, whatever was added, removed or changed meanwhile: no entry is shifted into or out of a page. An
entry whose value changes between two pages may be on both or on none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import Generic, TypeVar

import orjson

from braid.lake import InvalidRequest, Problem
from braid.service.control.page_token import decode_token, encode_token

EntryT = TypeVar("EntryT")


@total_ordering
@dataclass(frozen=True, slots=True)
class Place:
    """The place of an entry in a list.

    Attributes:
        value: The value by which the list is ordered; None: the entry has none, and comes after those that have one.
        name: The entry's name, which decides between equal values.
        is_descending: Whether larger values come first.
    """

    value: float | str | None
    name: str
    is_descending: bool = False

    def __lt__(self, other: "Place") -> bool:
        """Return whether an entry comes before another one of the same list."""
        if self.value is None or other.value is None or self.value == other.value:
            if (self.value is None) != (other.value is None):
                return other.value is None
            is_by_name = self.value is None or not self.is_descending
            return self.name < other.name if is_by_name else self.name > other.name
        is_less = self.value < other.value  # type: ignore[operator]  # values of one list have one type
        return is_less is not self.is_descending


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[EntryT]):
    """One page.

    Attributes:
        entries: The entries, in their order.
        next_page_token: Token of the next page; None on the last one.
    """

    entries: tuple[EntryT, ...]
    next_page_token: str | None


def page_of(
    entries: Iterable[tuple[Place, EntryT]], *, after: Place | None, page_size: int, digest: str
) -> Page[EntryT]:
    """Return the page of the entries after a place.

    Args:
        entries: All entries of the list, in any order.
        after: The place of the last entry before the page; None: the first page.
        page_size: The largest number of entries.
        digest: Digest of the request, for the token.
    """
    rest = sorted(
        (one for one in entries if after is None or one[0] > after), key=lambda one: one[0]
    )
    shown = rest[:page_size]
    return Page(
        entries=tuple(entry for _, entry in shown),
        next_page_token=token_of(shown[-1][0], digest) if len(rest) > len(shown) else None,
    )


def token_of(place: Place, digest: str) -> str:
    """Return the token of the page that ends at a place."""
    return encode_token(orjson.dumps([digest, place.value, place.name]))


def place_after(token: str, digest: str, *, is_by_name: bool, is_descending: bool) -> Place:
    """Return the place that a token stands for.

    Args:
        token: A text that `token_of` returned, or any other text.
        digest: Digest of the request.
        is_by_name: Whether the list is in the order of names; else of numbers.
        is_descending: Whether larger values come first.

    Raises:
        InvalidRequest: It is not a token of this list, or that of another request.
    """
    try:
        fields = orjson.loads(decode_token(token))
    except ValueError:  # not base64, or not JSON
        fields = None
    # Tokens are not signed: a forged one may have any values, also those that cannot be compared with the list's.
    match fields:
        case [found, _, _] if found != digest:
            raise _refused(token, "the token of a list with other conditions or another order")
        case [_, str(value), str(name)] if is_by_name:
            return Place(value, name, is_descending)
        case [_, (int() | float() | None) as value, str(name)] if not is_by_name:
            return Place(value, name, is_descending)
        case _:
            raise _refused(token, "not a page token of this list")


def _refused(token: str, message: str) -> InvalidRequest:
    hint = "use `next_page_token` of the page before, with the same conditions and order, or leave it out"
    problem = Problem(field="page_token", value=token[:200], message=message, hint=hint)
    return InvalidRequest("the page token is not valid", problems=[problem])
