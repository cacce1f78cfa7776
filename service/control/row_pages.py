"""Pages of the rows of a range of keys, in the order of the primary key, all from one snapshot.

A page ends after the requested number of rows, after `EXAMINED_MAX` rows were read, or after the rows with which it reaches
`PAGE_BYTES`: so a page is never slow because few rows fulfil the conditions, or because rows are large. The next page begins after
the last key that was read, wherever that is: files and row groups before it are not read again.

If another page follows, the snapshot is leased for ten minutes. Each page renews the lease, and the last one ends it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.json_values import json_row
from braid.formats.key_values import FieldsRefused, parse_json_key
from braid.lake import (
    InvalidRequest,
    KeyRange,
    LakeError,
    ReadAt,
    Scan,
    SnapshotLookup,
    Table,
    TableNotFound,
    TableSchema,
    python_rows,
)
from braid.registry.layout.physical_table import physical_groups, shown_fields
from braid.schemas import FieldProblem, GroupState, TableDocument
from braid.schemas.api import RowScan, StatusFilter, Visibility
from braid.service.column_mask import ColumnMask
from braid.service.control.consumers import end_lease
from braid.service.control.group_states import group_states
from braid.service.control.row_lookup import measured_ms, snapshot_fields
from braid.service.control.row_pages_token import (
    PagePosition,
    parse_token,
    to_token,
    token_refused,
)
from braid.service.control.row_status import status_columns

EXAMINED_MAX: Final = 20_000
PAGE_BYTES: Final = 8 << 20
_BATCH_ROWS: Final = 4_096
_LOOKUP_KEYS: Final = 100
"""Keys that are looked up at once, after which the size of the page is known."""

_SUMMARY: Final = "the requested rows do not fit the table"


class PagesExpired(LakeError):
    """The snapshot of the first page cannot be read any more as it was: the pages have to be started anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfPage:
    """A page before it is written as JSON or Arrow.

    Attributes:
        rows: The requested columns, in their order.
        schema: The schema that the rows were read with.
        examined: Number of rows that were read.
        snapshot: The snapshot, as JSON values (`SnapshotInfo`).
        next_page_token: Token of the next page; None on the last one.
    """

    rows: pa.Table
    schema: TableSchema
    examined: int
    snapshot: dict[str, Any]
    next_page_token: str | None


def read_first_page(
    table: Table,
    document: TableDocument | None,
    scan: RowScan,
    *,
    verified_ms: int,
    mask: ColumnMask,
) -> RowsOfPage:
    """Return the first page of a request.

    Args:
        table: The table.
        document: Its declaration; None: the table is not registered.
        scan: The request.
        verified_ms: A time just before now, milliseconds since 1970.
        mask: The columns that the client may not see.

    Raises:
        ColumnMasked: The client may not see the rows, a column or the status.
        InvalidRequest: The range, the conditions, the columns or the state do not fit the table.
        FieldsRefused: The same, with the place in the body.
    """
    at = ReadAt(snapshot_id=scan.snapshot_id, tag=scan.tag, timestamp=scan.timestamp)
    keys = table.scan(at=at, merged=scan.visibility is Visibility.MERGED)
    snapshot = keys.snapshot
    position = PagePosition(
        table=table.identifier,
        scan=scan.model_copy(
            update={
                "limit": RowScan().limit,
                "min_snapshot": None,
                "read_after": None,
                # So that the token says which columns its client may see.
                "columns": mask.visible(keys.schema, scan.columns),
            }
        ),
        snapshot_id=0 if snapshot is None else snapshot.id,
        snapshot_uuid=None if snapshot is None else snapshot.uuid,
        tag=scan.tag,
        schema_id=keys.schema.id,
        verified_ms=verified_ms,
        measured_ms=measured_ms(snapshot, verified_ms, is_newest=at.is_newest),
        after={},
    )
    _check_status(document, keys.schema, scan, mask)
    return _read(table, keys, document, position, limit=scan.limit)


def read_next_page(
    table: Table, document: TableDocument | None, scan: RowScan, *, mask: ColumnMask
) -> RowsOfPage:
    """Return the page after the one that has returned `scan.page_token`.

    Raises:
        ColumnMasked: The token is of a client that sees more.
        InvalidRequest: The token is not one for rows of this table, or the request has a field that the token stands for.
        PagesExpired: The snapshot is not kept any more, or the columns of the conditions have changed.
    """
    assert scan.page_token is not None, "the first page has no token"
    _check_alone(scan)
    position = parse_token(scan.page_token, table=table.identifier)
    if position.schema_id > table.schema.id:
        raise token_refused(scan.page_token)
    mask.check_page(position.scan.columns)
    is_merged = position.scan.visibility is Visibility.MERGED
    try:
        keys = table.scan(at=_state(position), merged=is_merged, schema_id=position.schema_id)
    except TableNotFound:
        raise
    except InvalidRequest as error:
        raise _expired(position, f"snapshot {position.snapshot_id} is not kept any more") from error
    found = keys.snapshot
    if found is None or (found.id, found.uuid) != (position.snapshot_id, position.snapshot_uuid):
        reason = f"snapshot {position.snapshot_id} is another one than that of the first page"
        raise _expired(position, reason)
    if position.schema_id < found.schema_id:
        # Forged: the snapshot would be read by former names of its columns, which the mask need not have.
        raise token_refused(scan.page_token)
    mask.check_rows(keys.schema)
    _check_status(document, keys.schema, position.scan, mask)
    if position.scan.status is not None and document is not None:
        now = status_columns(document, table.schema)
        if now != status_columns(document, keys.schema):
            raise _expired(position, "the columns of the table's groups have changed")
    return _read(table, keys, document, position, limit=scan.limit)


def _read(
    table: Table,
    keys: Scan,
    document: TableDocument | None,
    position: PagePosition,
    *,
    limit: int,
) -> RowsOfPage:
    lookup = table.lookup_at(
        _state(position),
        merged=position.scan.visibility is Visibility.MERGED,
        schema_id=position.schema_id,
    )
    page = _Page(keys, lookup, document, position)
    rows, last = page.read(position.after, limit=limit)
    token = None
    if last is not None:
        following = replace(position, after=last)
        if position.tag is None:
            lease = keys.lease(what="a page of rows", lease_id=position.lease_id)
            following = replace(following, lease_id=None if lease is None else lease.id)
        token = to_token(following)
    elif position.lease_id is not None:
        end_lease(table, position.lease_id)
    return RowsOfPage(
        rows=rows,
        schema=keys.schema,
        examined=page.examined,
        snapshot=snapshot_fields(keys.snapshot, position.verified_ms, hidden=keys.hidden),
        next_page_token=token,
    )


def _check_status(
    document: TableDocument | None, schema: TableSchema, scan: RowScan, mask: ColumnMask
) -> None:
    """Refuse conditions on states that tell something about a masked column."""
    if document is not None and scan.status is not None:
        mask.check_status(document, schema)


def _state(position: PagePosition) -> ReadAt:
    """Return the state of all pages; the newest if there was no snapshot."""
    if position.tag is not None:
        return ReadAt(tag=position.tag)
    return ReadAt(snapshot_id=position.snapshot_id or None)


class _Page:
    """One page of a request: its keys come from a scan, and its rows from a lookup of the same snapshot.

    A scan that begins amid a file decodes rows that the page does not have. So it reads only the columns of the key and of the
    conditions, and the lookup, which has copies of the files, reads the others.

    Attributes:
        examined: Number of rows that were read.
    """

    def __init__(
        self,
        keys: Scan,
        lookup: SnapshotLookup,
        document: TableDocument | None,
        position: PagePosition,
    ) -> None:
        schema, scan = keys.schema, position.scan
        self.examined = 0
        self._lookup = lookup
        self._schema = schema
        self._status = scan.status
        self._document = document
        self._measured_ms = position.measured_ms
        self._states = _wanted_states(document, scan.status)
        self._names = (
            [field.name for field in shown_fields(schema)]
            if scan.columns is None
            else list(scan.columns)
        )
        needed = [*schema.primary_keys]
        if document is not None and scan.status is not None:
            needed += status_columns(document, schema)
        columns = tuple(dict.fromkeys(needed))
        self._keys = replace(keys, columns=columns, batch_rows=_BATCH_ROWS)
        self._range = KeyRange(
            prefix=_leading(schema, scan.prefix, "prefix"),
            starts_with=scan.starts_with,
            first=_leading(schema, scan.from_key, "from_key"),
            before=_leading(schema, scan.to_key, "to_key"),
        )

    def read(
        self, after: Mapping[str, Any], *, limit: int
    ) -> tuple[pa.Table, dict[str, Any] | None]:
        """Return the rows after a key, and the last key that was read; None after the last row of the range."""
        # A token has the whole key; another one was forged, and is refused like a wrong bound.
        place = parse_json_key(self._schema, after, pointer="/page_token") if after else {}
        no_keys = self._keys.arrow_schema.empty_table().select(self._schema.primary_keys)
        found = [self._lookup.rows(no_keys, columns=self._names)]
        count = size = 0
        for chunk in self._keys.in_key_order(replace(self._range, after=place)):
            read = chunk.slice(0, EXAMINED_MAX - self.examined)
            keys = read.select(self._schema.primary_keys)
            wanted = np.flatnonzero(self._matches(read))[: limit - count]
            for begin in range(0, len(wanted), _LOOKUP_KEYS):
                numbers = wanted[begin : begin + _LOOKUP_KEYS]
                rows = self._lookup.rows(keys.take(pa.array(numbers)), columns=self._names)
                found.append(rows)
                count += len(numbers)
                size += rows.nbytes
                if count == limit or size >= PAGE_BYTES:
                    last = int(numbers[-1])
                    self.examined += last + 1
                    return pa.concat_tables(found), self._key(keys, last)
            self.examined += read.num_rows
            if self.examined >= EXAMINED_MAX:
                return pa.concat_tables(found), self._key(keys, keys.num_rows - 1)
        return pa.concat_tables(found), None

    def _matches(self, rows: pa.Table) -> npt.NDArray[np.bool_]:
        matches = np.ones(rows.num_rows, dtype=bool)
        if self._status is None or self._document is None:
            return matches
        states = group_states(self._document, self._schema, rows, now_ms=self._measured_ms)
        for name, wanted in self._states.items():
            masks = [states.masks[name][state] for state in wanted]
            matches &= np.logical_or.reduce([np.zeros_like(matches), *masks])
        if self._status.complete is not None:
            matches &= states.complete == self._status.complete
        return matches

    def _key(self, keys: pa.Table, number: int) -> dict[str, Any]:
        (key,) = python_rows(keys.slice(number, 1).combine_chunks().to_batches()[0])
        return json_row(key, [self._schema.field(name) for name in key])


def _wanted_states(
    document: TableDocument | None, status: StatusFilter | None
) -> dict[str, Sequence[GroupState]]:
    """Return the wanted states by group; raise for a name that is no group, and for a table without a declaration."""
    if status is None:
        return {}
    groups = [] if document is None else [group.name for group in physical_groups(document.table)]
    problems = [
        FieldProblem(
            pointer=f"/status/groups/{name}",
            field=f"status.groups.{name}",
            value=name,
            message="the table has no such sequence group",
            hint=f"groups: {', '.join(groups) or 'none'}",
        )
        for name in status.groups
        if name not in groups
    ]
    if not groups and not problems:
        problems = [
            FieldProblem(
                pointer="/status",
                field="status",
                message="the table has no sequence groups, so its rows have no status",
                hint="leave it out",
            )
        ]
    if problems:
        raise FieldsRefused(_SUMMARY, problems)
    return {
        name: (states,) if isinstance(states, GroupState) else states
        for name, states in status.groups.items()
    }


def _leading(
    schema: TableSchema, values: Mapping[str, str | int | float], name: str
) -> dict[str, object]:
    """Return the typed values of the first columns of the key."""
    columns = schema.primary_keys[: len(values)]
    if values and set(values) <= set(schema.primary_keys) and set(values) != set(columns):
        problem = FieldProblem(
            pointer=f"/{name}",
            field=name,
            value=", ".join(values),
            message="expected the first columns of the primary key, without a gap",
            hint=f"the primary key is: {', '.join(schema.primary_keys)}",
        )
        raise FieldsRefused(_SUMMARY, [problem])
    return parse_json_key(schema, values, pointer=f"/{name}", columns=columns) if values else {}


def _check_alone(scan: RowScan) -> None:
    given = scan.model_fields_set - {"page_token", "limit", "integers"}
    if given:
        problems = [
            FieldProblem(
                pointer=f"/{name}",
                field=name,
                message="the page token stands for this field",
                hint="leave it out, or leave the token out",
            )
            for name in sorted(given)
        ]
        raise FieldsRefused(_SUMMARY, problems)


def _expired(position: PagePosition, reason: str) -> PagesExpired:
    message = f"table {position.table}: {reason}\nhint: start again with the first page"
    return PagesExpired(message)
