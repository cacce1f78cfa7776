"""Access of clients to tables: scopes, grants and stored access tokens."""

import re
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from braid.schemas.contract import Contract, at_most

EVERY_TABLE: Final = "*"
PATTERNS_MAX: Final = 100
GRANTS_MAX: Final = 100

_PATTERN: Final = re.compile(r"(?=.{3,161}\Z)(\w+\*?|\*)\.(\w+\*?|\*)", re.ASCII)
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}"


class AccessScope(StrEnum):
    """What a client may do with tables; each scope includes those before it."""

    READ = "read"  # rows, changes, declarations, states
    WRITE = "write"  # records pushed to streams, positions of consumers
    OPERATE = "operate"  # start, pause, stop, positions of streams, replays
    ADMIN = "admin"  # declarations of tables and streams, drops


def _check_pattern(pattern: str) -> str:
    if pattern != EVERY_TABLE and (not _PATTERN.fullmatch(pattern) or pattern == "*.*"):
        message = "expected `database.table`, where each name may end in `*`, or `*` alone for every table"
        raise ValueError(message)
    return pattern


TablePattern = Annotated[str, AfterValidator(_check_pattern)]
"""`shop.orders`; `shop.*` or `shop.order_*`, where `*` stands for any further characters of the name; or `*`, every table."""


class Grant(Contract):
    """A scope, and the tables for which a client has it.

    Attributes:
        scope: What the client may do.
        tables: Patterns of tables' names, at least one.
    """

    scope: AccessScope
    tables: Annotated[tuple[TablePattern, ...], at_most(PATTERNS_MAX)] = Field(min_length=1)

    def __str__(self) -> str:
        """Return the grant as the command line takes it.

        Example:
            >>> str(Grant(scope=AccessScope.READ, tables=("shop.*", "crm.people")))
            'read:shop.*,crm.people'
        """
        return f"{self.scope.value}:{','.join(self.tables)}"


class AccessToken(Contract):
    """An access token as it is stored: without its secret.

    Attributes:
        id: The part of the token that names it, 16 hexadecimal digits.
        name: Name for people and for the audit log, unique among the tokens of a warehouse.
        digest: SHA-256 of the whole token, 64 hexadecimal digits.
        grants: What its bearer may do, at least one.
        created_ms: Creation time, milliseconds since the epoch.
        expires_ms: The time from which on it is refused; None: it does not expire.
    """

    id: str = Field(pattern=r"^[0-9a-f]{16}$")
    name: str = Field(pattern=f"^{_NAME}$")
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    grants: Annotated[tuple[Grant, ...], at_most(GRANTS_MAX)] = Field(min_length=1)
    created_ms: int
    expires_ms: int | None = None
