"""Parameters of the lists of tables and streams, as a dependency."""

from functools import partial
from typing import Annotated

from fastapi import Depends, Query

from braid.schemas import StreamState
from braid.schemas.access import AccessScope
from braid.schemas.resource_lists import Expansion, ListOrder
from braid.service.control.lists.list_query import (
    ANY_TABLE,
    PAGE_SIZE,
    PAGE_SIZE_MAX,
    ListQuery,
)
from braid.service.dependencies import PrincipalOf

VALUES_MAX = 20  # of a parameter that may be repeated
LABEL_LENGTH_MAX = 200
TOKEN_LENGTH_MAX = 4_000

TablePattern = Annotated[
    str,
    Query(
        alias="table",
        pattern=r"^[A-Za-z0-9_.*]+$",
        max_length=170,
        description="Only tables whose `<database>.<table>` fits, such as `shop.*`.",
    ),
]


async def get_list_query(
    principal: PrincipalOf,
    name_prefix: Annotated[
        str, Query(max_length=80, description="Only entries whose name begins with this text.")
    ] = "",
    table_pattern: TablePattern = ANY_TABLE,
    label: Annotated[
        list[Annotated[str, Query(min_length=1, max_length=LABEL_LENGTH_MAX)]] | None,
        Query(
            max_length=VALUES_MAX,
            description="Only entries with this label: `team=payments`, or `team` with any value. May be repeated; all hold.",
        ),
    ] = None,
    owner: Annotated[
        str | None, Query(max_length=200, description="Only entries of this owner.")
    ] = None,
    state: Annotated[
        list[StreamState] | None,
        Query(
            max_length=VALUES_MAX,
            description="Only streams in this state, or tables with such a stream. May be repeated; one holds.",
        ),
    ] = None,
    sort: Annotated[
        ListOrder,
        Query(
            description="The order; with `-` the largest first. Entries without the value come last."
        ),
    ] = ListOrder.NAME,
    expand: Annotated[
        list[Expansion] | None,
        Query(max_length=VALUES_MAX, description="`status`: entries have their status."),
    ] = None,
    page_size: Annotated[int, Query(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE,
    page_token: Annotated[str | None, Query(max_length=TOKEN_LENGTH_MAX)] = None,
) -> ListQuery:
    """Return what a request for a list asks."""
    return ListQuery(
        name_prefix=name_prefix,
        table=table_pattern,
        labels=tuple(label or ()),
        owner=owner,
        states=frozenset(state or ()),
        order=sort,
        expand=frozenset(expand or ()),
        page_size=page_size,
        page_token=page_token,
        may_see=partial(principal.may, AccessScope.READ),
        sees_all=principal.sees_all,
    )


ListQueryOf = Annotated[ListQuery, Depends(get_list_query)]
