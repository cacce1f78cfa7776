"""The client of a request, by whatever it has identified itself, and what it may do."""

import re
from collections.abc import Sequence
from typing import Final

from fastapi import Request
from starlette.types import Scope

from braid.schemas.access import EVERY_TABLE, AccessScope, Grant
from braid.service.column_mask import NO_MASK, ColumnMask

_RANK: Final = {scope: rank for rank, scope in enumerate(AccessScope, start=1)}
_NAME_MAX: Final = 161  # characters of `database.table`
_KNOWN_MAX: Final = 200  # tables whose rank is kept


class Principal:
    """A client that has identified itself; safe to share between requests.

    Attributes:
        name: The name of its token, or the name that its issuer gives; `anonymous` without identification.
        grants: What it may do.
    """

    __slots__ = (
        "_known",
        "_known_masks",
        "_masks",
        "_patterns",
        "_rank_anywhere",
        "_rank_everywhere",
        "grants",
        "name",
    )

    def __init__(self, name: str, grants: Sequence[Grant]) -> None:
        self.name: Final = name
        self.grants: Final = tuple(grants)
        self._patterns = [
            (_RANK[grant.scope], re.compile("|".join(map(_expression, grant.tables))))
            for grant in grants
        ]
        everywhere = [grant for grant in grants if EVERY_TABLE in grant.tables]
        self._rank_anywhere = _highest(grants)
        self._rank_everywhere = _highest(everywhere)
        self._known: dict[str, int] = {}
        has_mask = any(grant.masked_columns for grant in grants)
        self._masks = [(_tables_of(grant), frozenset(grant.masked_columns)) for grant in grants]
        self._known_masks: dict[str, ColumnMask] | None = {} if has_mask else None

    def may(self, scope: AccessScope, table: str) -> bool:
        """Return whether it has a scope for a table, `database.table`."""
        rank = self._known.get(table)
        if rank is None:
            rank = self._rank(table)
            if len(self._known) < _KNOWN_MAX and len(table) <= _NAME_MAX:
                self._known[table] = rank
        return rank >= _RANK[scope]

    def mask(self, table: str) -> ColumnMask:
        """Return the columns of a table, `database.table`, that every grant for it masks."""
        if self._known_masks is None:
            return NO_MASK
        mask = self._known_masks.get(table)
        if mask is None:
            masked = [columns for tables, columns in self._masks if tables.fullmatch(table)]
            mask = ColumnMask(frozenset.intersection(*masked)) if masked else NO_MASK
            if len(self._known_masks) < _KNOWN_MAX and len(table) <= _NAME_MAX:
                self._known_masks[table] = mask
        return mask

    def sees_all(self, table: str) -> bool:
        """Return whether it may read all columns of a table, `database.table`."""
        return self.may(AccessScope.READ, table) and not self.mask(table).columns

    def may_anywhere(self, scope: AccessScope) -> bool:
        """Return whether it has a scope for some table, whichever it is."""
        return self._rank_anywhere >= _RANK[scope]

    def may_everywhere(self, scope: AccessScope) -> bool:
        """Return whether it has a scope for every table, by the pattern `*`."""
        return self._rank_everywhere >= _RANK[scope]

    def _rank(self, table: str) -> int:
        ranks = [rank for rank, pattern in self._patterns if pattern.fullmatch(table)]
        return max([self._rank_everywhere, *ranks])


def _highest(grants: Sequence[Grant]) -> int:
    return max((_RANK[grant.scope] for grant in grants), default=0)


def _tables_of(grant: Grant) -> re.Pattern[str]:
    """Return the pattern of the tables of a grant, every table included."""
    if EVERY_TABLE in grant.tables:
        return re.compile(".*", re.DOTALL)
    return re.compile("|".join(map(_expression, grant.tables)))


def _expression(pattern: str) -> str:
    """Return the regular expression of a `TablePattern`: `*` stands for characters of one name."""
    return re.escape(pattern).replace(r"\*", "[^.]*")


ANYONE: Final = Principal("anonymous", [Grant(scope=AccessScope.ADMIN, tables=(EVERY_TABLE,))])
"""Every client of a service without access control."""

NOBODY: Final = Principal("anonymous", [])
"""A client that has not identified itself, at an address that needs no scope."""


def mask_of(scope: Scope, table: str) -> ColumnMask:
    """Return the columns of a table, `database.table`, that the client of a request may not see."""
    principal = scope["state"]["principal"]
    assert isinstance(principal, Principal)
    return principal.mask(table)


def principal_of(request: Request) -> Principal:
    """Return the client of a request, which the layer of access control has found."""
    found = request.scope["state"]["principal"]
    assert isinstance(found, Principal)
    return found
