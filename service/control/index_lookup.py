"""Rows of a table by the columns of a lookup index: the request, and a page of the answer.

The token of the next page has the hash of the last key, in whose order rows are answered: a row that has the values all the
time is on one of the pages, although each page is of the newest snapshot.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from braid.formats.key_values import parse_key
from braid.lake import InvalidRequest, LakeError, Problem, TableSchema, ValueLookup
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import LookupIndexSpec, TableDocument
from braid.schemas.field_problems import quoted_list
from braid.service.column_mask import ColumnMask
from braid.service.control.page_token import decode_token, encode_token
from braid.service.control.read_at_parameters import split_parameters
from braid.service.control.row_lookup import LookedUp

PAGE_SIZE: Final = 100
PAGE_SIZE_MAX: Final = 1_000
INDEX_PARAMETERS: Final = ("columns", "page_size", "page_token")
"""Names of the parameters besides the columns of the index."""

_SUMMARY: Final = "the parameters of the lookup are not valid"
_HASH_MAX: Final = (1 << 64) - 1


class IndexNotFound(LakeError):
    """The table has no lookup index of that name."""


class IndexNotBuilt(LakeError):
    """A lookup index does not have all files of the snapshot yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRequest:
    """A request for rows by the columns of an index.

    Attributes:
        values: The value of each column of the index.
        columns: Columns of the rows, in order.
        page_size: The largest number of rows.
        after: Hash of the last key of the page before; None: the first page.
        digest: Digest of table and values, which the tokens of other pages have, too.
    """

    values: Mapping[str, object]
    columns: tuple[str, ...]
    page_size: int
    after: int | None
    digest: str


def index_named(document: TableDocument, name: str) -> LookupIndexSpec:
    """Return a lookup index of a table.

    Raises:
        IndexNotFound: The table has no index of that name.
    """
    indexes = document.table.lookup_indexes
    found = next((one for one in indexes if one.name == name), None)
    if found is None:
        known = quoted_list(one.name for one in indexes) or "none"
        message = f"the table {document.identifier} has no lookup index {name}; indexes: {known}"
        raise IndexNotFound(message)
    return found


def index_request(
    table: str,
    schema: TableSchema,
    index: LookupIndexSpec,
    parameters: Sequence[tuple[str, str]],
    *,
    mask: ColumnMask,
) -> IndexRequest:
    """Return the request that parameters make; a parameter with the name of a column of the index is that column's value.

    Args:
        table: `db.table`.
        schema: The schema of what is served.
        index: The index.
        parameters: Names and texts.
        mask: The columns that the client may not see.

    Raises:
        ColumnMasked: The client may not see a column of the index or of the answer.
        KeyRefused: The parameters do not give one value of each column.
        InvalidRequest: Another parameter is not valid.
    """
    names = [name for name in INDEX_PARAMETERS if name not in index.columns]
    given, values = split_parameters(parameters, names, summary=_SUMMARY)
    mask.check_named(index.columns)
    columns = given.get("columns")
    requested = None if columns is None else list(dict.fromkeys(columns.split(",")))
    wanted = mask.visible(schema, requested)
    if wanted is None:
        wanted = tuple(field.name for field in shown_fields(schema))
    unknown = [name for name in wanted if name not in schema.fields_by_name]
    if unknown:
        raise _refused(field="columns", value=unknown[0], message="the table has no such column")
    wanted_values = parse_key(schema, values, columns=index.columns)
    digest, token = _digest(table, wanted_values), given.get("page_token")
    return IndexRequest(
        values=wanted_values,
        columns=wanted,
        page_size=_page_size(given.get("page_size")),
        after=None if token is None else _after(token, of=digest),
        digest=digest,
    )


def find_index_rows(at: LookedUp, lookup: ValueLookup, request: IndexRequest) -> dict[str, Any]:
    """Return a page of rows as JSON values (see `IndexRows`).

    Raises:
        NotCopied: The index does not have all files of the snapshot.
        LimitExceeded: Too many records have the values.
    """
    found = lookup.rows(
        request.values, columns=request.columns, rows_max=request.page_size, after=request.after
    )
    return {
        "rows": [at.write_row(row) for row in found.rows],
        "snapshot": at.snapshot_fields,
        "next_page_token": None
        if found.after is None
        else encode_token(orjson.dumps([request.digest, found.after])),
    }


def _page_size(text: str | None) -> int:
    if text is None:
        return PAGE_SIZE
    if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= PAGE_SIZE_MAX:
        return int(text)
    message = f"expected a whole number from 1 to {PAGE_SIZE_MAX}"
    raise _refused(field="page_size", value=text, message=message)


def _digest(table: str, values: Mapping[str, object]) -> str:
    """Return a digest of what pages are of; the order of rows is the same for all, so a page of others would leave out rows."""
    text = repr([table, sorted(values.items())])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _after(token: str, *, of: str) -> int:
    try:
        fields = orjson.loads(decode_token(token))
    except ValueError:  # not base64, or not JSON
        fields = None
    match fields:
        case [str(digest), int(after)] if (
            digest == of and 0 <= after <= _HASH_MAX and not isinstance(after, bool)
        ):
            return after
        case _:
            message = "not a page token of this table, index and values; use `next_page_token` of the page before"
            raise _refused(field="page_token", value=token, message=message)


def _refused(*, field: str, value: str, message: str) -> InvalidRequest:
    return InvalidRequest(
        _SUMMARY, problems=[Problem(field=field, value=value[:200], message=message)]
    )
