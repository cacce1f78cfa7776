"""Access of clients to tables: scopes, grants and stored access tokens."""

import re
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from braid.schemas.contract import Contract, at_most

EVERY_TABLE: Final = "*"
PATTERNS_MAX: Final = 100
GRANTS_MAX: Final = 100
MASKED_COLUMNS_MAX: Final = 1_000

COLUMN_LENGTH_MAX: Final = 128  # characters
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


ColumnName = Annotated[str, Field(min_length=1, max_length=COLUMN_LENGTH_MAX)]


class Grant(Contract):
    """A scope, and the tables for which a client has it.

    Attributes:
        scope: What the client may do.
        tables: Patterns of tables' names, at least one.
        masked_columns: Columns of these tables that the client may not see, unless another of its grants for a table shows
            them; only with the scope `read`, because the others change tables.
    """

    scope: AccessScope
    tables: Annotated[tuple[TablePattern, ...], at_most(PATTERNS_MAX)] = Field(min_length=1)
    # Left out without any, so that versions without masks go on reading grants that have none.
    masked_columns: Annotated[tuple[ColumnName, ...], at_most(MASKED_COLUMNS_MAX)] = Field(
        default=(), exclude_if=lambda columns: not columns
    )

    @model_validator(mode="after")
    def _check_mask(self) -> Self:
        if self.masked_columns and self.scope is not AccessScope.READ:
            message = "columns can be masked in a grant of `read` alone: the other scopes change what a table has"
            raise ValueError(message)
        return self

    def __str__(self) -> str:
        """Return the grant as the command line takes it.

        Example:
            >>> str(Grant(scope=AccessScope.READ, tables=("shop.*", "crm.people")))
            'read:shop.*,crm.people'
            >>> str(Grant(scope=AccessScope.READ, tables=("crm.*",), masked_columns=("email",)))
            'read:crm.*:mask=email'
        """
        mask = f":mask={','.join(self.masked_columns)}" if self.masked_columns else ""
        return f"{self.scope.value}:{','.join(self.tables)}{mask}"


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
