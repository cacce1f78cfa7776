"""Query of a list: conditions on the entries, the order, what the entries have, and the page. Pure."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from braid.schemas import StreamState
from braid.schemas.resource_lists import Expansion, ListOrder

PAGE_SIZE: Final = 100
PAGE_SIZE_MAX: Final = 1_000
ANY_TABLE: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A request for a list; an entry of the list fulfils all conditions.

    Attributes:
        name_prefix: What the name of the table or stream begins with.
        table: Pattern of `<database>.<table>`, in which `*` stands for any characters.
        labels: Conditions on labels: `<name>=<value>`, or `<name>` for any value.
        owner: The owner; None: any.
        states: The states of the stream, or of a stream of the table; empty: any.
        order: The order of the entries.
        expand: What the entries have besides.
        page_size: The largest number of entries of a page.
        page_token: Token of the page before; None: the first page.
        may_see: Returns whether the client may read a table, by its identifier.
        sees_all: Returns whether it may read all columns of such a table.
    """

    name_prefix: str = ""
    table: str = ANY_TABLE
    labels: tuple[str, ...] = ()
    owner: str | None = None
    states: frozenset[StreamState] = frozenset()
    order: ListOrder = ListOrder.NAME
    expand: frozenset[Expansion] = frozenset()
    page_size: int = PAGE_SIZE
    page_token: str | None = None
    may_see: Callable[[str], bool] = lambda _: True
    sees_all: Callable[[str], bool] = lambda _: True

    @property
    def shows_status(self) -> bool:
        """Whether the entries have their whole status."""
        return Expansion.STATUS in self.expand

    @property
    def needs_documents(self) -> bool:
        """Whether a list of tables needs more than the names of the tables."""
        is_named = self.order.by == ListOrder.NAME
        return bool(self.expand or self.labels or self.owner or self.states or not is_named)

    @property
    def digest(self) -> str:
        """A digest of the conditions and the order, which a token of a page belongs to."""
        asked = (self.name_prefix, self.table, sorted(self.labels), self.owner, sorted(self.states))
        return hashlib.sha256(repr((asked, self.order.value)).encode()).hexdigest()[:16]

    def admits_table(self, identifier: str) -> bool:
        """Return whether tables of that name are meant, and the client may read them."""
        return fnmatchcase(identifier, self.table) and self.may_see(identifier)

    def admits_name(self, name: str) -> bool:
        """Return whether entries of that name are meant."""
        return name.startswith(self.name_prefix)

    def admits_people(self, labels: Mapping[str, str], owner: str | None) -> bool:
        """Return whether entries with these labels and this owner are meant."""
        return self.owner in (None, owner) and has_labels(labels, self.labels)


def has_labels(labels: Mapping[str, str], conditions: Iterable[str]) -> bool:
    """Return whether labels fulfil all conditions: `<name>=<value>`, or `<name>` for any value.

    >>> has_labels({"team": "payments"}, ["team"]), has_labels({"team": "payments"}, ["team=x"])
    (True, False)
    """
    return all(
        name in labels and (not has_value or labels[name] == value)
        for name, has_value, value in (condition.partition("=") for condition in conditions)
    )
