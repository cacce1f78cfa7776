"""Operations on the rows of a table: rows, changes and consumers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from braid.client.answers import RowAnswer, as_model, as_model_unless_known, nothing
from braid.client.keys import Key, Keys, json_value, keys_of
from braid.client.many_rows import ACCEPT, ArrowRows, as_arrow_rows
from braid.client.operation import Call, Resource, Scalar, operation
from braid.schemas import TableCompleteness
from braid.schemas.api import (
    ChangesPage,
    ConsumerList,
    ConsumerPosition,
    ConsumerView,
    IndexRows,
    RowKeys,
    RowPage,
    RowScan,
    StatusFilter,
    WideRows,
)

ROWS = "/v1/tables/{database}/{table}/rows"
_TABLE = "/v1/tables/{database}/{table}"
Timestamp = str | int | datetime


class RowOperations(Resource):
    """Rows by key, and the changes of rows."""

    @operation("GET", ROWS)
    def row(
        self,
        key: Key,
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
        integers: str | None = None,
    ) -> Call[RowAnswer]:
        """Return the row of a key.

        Args:
            key: A value for each column of the primary key.
            columns: The columns to return, in order; None: all.
            snapshot_id: The snapshot to read; None: the newest.
            tag: The tag whose snapshot is read.
            timestamp: The newest snapshot committed then or before is read: a time with a zone, or milliseconds since 1970.
            min_snapshot: Id of the oldest snapshot that may answer.
            max_staleness_ms: How long ago the snapshot may have been verified to be the newest.
            read_after: Token of a push (`StreamOperations.push`), whose records the snapshot must have taken in.
            visibility: `merged` includes records that the table hides until a compaction; None: `compacted`.
            integers: `text` returns values of BIGINT as texts; None: `number`.

        Raises:
            RowNotFound: There is no such row.
            SnapshotNotReached: No snapshot is as new as `min_snapshot`, or has taken in the records of `read_after`.
        """
        return Call(
            decode=as_model(RowAnswer),
            query=key_query(
                key,
                columns=names_of(columns),
                snapshot_id=snapshot_id,
                tag=tag,
                timestamp=time_text(timestamp),
                min_snapshot=min_snapshot,
                max_staleness_ms=max_staleness_ms,
                read_after=read_after,
                visibility=visibility,
                integers=integers,
            ),
        )

    @operation("GET", ROWS)
    def row_if_changed(
        self, key: Key, etag: str, *, columns: Sequence[str] | None = None
    ) -> Call[RowAnswer | None]:
        """Return the newest row of a key; None if nothing has changed since an answer with this `etag`."""
        return Call(
            decode=as_model_unless_known(RowAnswer),
            query=key_query(key, columns=names_of(columns)),
            headers={"if-none-match": etag},
        )

    @operation("POST", f"{ROWS}/lookup")
    def lookup(
        self,
        keys: Keys,
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
        integers: str | None = None,
    ) -> Call[WideRows]:
        """Return the rows of up to 1,000 keys, all of one snapshot, None where there is no row; see `row` and `rows`."""
        return Call(
            decode=as_model(WideRows),
            body=row_keys(
                keys,
                columns=columns,
                snapshot_id=snapshot_id,
                tag=tag,
                timestamp=timestamp,
                min_snapshot=min_snapshot,
                max_staleness_ms=max_staleness_ms,
                read_after=read_after,
                visibility=visibility,
                integers=integers,
            ),
            is_repeatable=True,
        )

    @operation("POST", f"{ROWS}/lookup")
    def lookup_arrow(
        self,
        keys: Keys,
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
    ) -> Call[ArrowRows]:
        """Return the rows of up to 1,000 keys as an Arrow table with the columns of the key, without missing rows."""
        body = row_keys(
            keys,
            columns=columns,
            snapshot_id=snapshot_id,
            tag=tag,
            timestamp=timestamp,
            min_snapshot=min_snapshot,
            max_staleness_ms=max_staleness_ms,
            read_after=read_after,
            visibility=visibility,
        )
        return Call(
            decode=lambda response: as_arrow_rows(response, body.keys),
            body=body,
            headers={"accept": ACCEPT},
            is_repeatable=True,
        )

    @operation("POST", f"{ROWS}/scan")
    def scan(
        self,
        *,
        prefix: Key | None = None,
        starts_with: str | None = None,
        from_key: Key | None = None,
        to_key: Key | None = None,
        status: StatusFilter | Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
        limit: int | None = None,
        integers: str | None = None,
        page_token: str | None = None,
    ) -> Call[RowPage]:
        """Return a page of the rows of a range of keys, in the order of the primary key; `pages` returns all pages.

        Args:
            prefix: Values of the first columns of the key, which all rows have.
            starts_with: What the text of the key's next column begins with.
            from_key: The first key of the range, or values of its first columns.
            to_key: The first key after the range, or values of its first columns.
            status: Conditions on the status of rows, such as `{"groups": {"payments": "absent"}}`.
            columns: The columns to return, in order; None: all.
            snapshot_id: As for `row`, like the following ones.
            tag: The tag whose snapshot is read.
            timestamp: The newest snapshot committed then or before is read.
            min_snapshot: Id of the oldest snapshot that may answer.
            max_staleness_ms: How long ago the snapshot may have been verified to be the newest.
            read_after: Token of a push, whose records the snapshot must have taken in.
            visibility: As for `row`.
            limit: The largest number of rows.
            integers: As for `row`.
            page_token: Token of the page before, which stands for all other arguments but `limit` and `integers`.
        """
        keys = {"prefix": prefix, "from_key": from_key, "to_key": to_key}
        of_range = {
            **{name: key_query(key) for name, key in keys.items() if key is not None},
            "starts_with": starts_with,
            "status": status,
            "columns": columns,
            "snapshot_id": snapshot_id,
            "tag": tag,
            "timestamp": time_text(timestamp),
            "min_snapshot": min_snapshot,
            "max_staleness_ms": max_staleness_ms,
            "read_after": read_after,
            "visibility": visibility,
        }
        of_page = {"limit": limit, "integers": integers, "page_token": page_token}
        given = {**of_page, **(of_range if page_token is None else {})}
        fields = {name: value for name, value in given.items() if value is not None}
        body = RowScan.model_validate(fields)
        return Call(decode=as_model(RowPage), body=body, is_repeatable=True)

    @operation("GET", f"{_TABLE}/completeness")
    def completeness(
        self,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
    ) -> Call[TableCompleteness]:
        """Return how many rows each stream has delivered; the counts are None while they are made for the first time."""
        return Call(
            decode=as_model(TableCompleteness),
            query={"snapshot_id": snapshot_id, "tag": tag, "timestamp": time_text(timestamp)},
        )

    @operation("GET", f"{_TABLE}/indexes/{{index}}/rows")
    def index_rows(
        self,
        index: str,
        values: Key,
        *,
        columns: Sequence[str] | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[IndexRows]:
        """Return a page of the rows with some values of the columns of a lookup index, all of one snapshot.

        Args:
            index: The name of the index.
            values: A value for each of its columns.
            columns: The columns to return, in order; None: all.
            page_size: The largest number of rows.
            page_token: Token of the page; None: the first.

        Raises:
            IndexNotFound: The table has no such index.
            Unavailable: The index is being built; the request was repeated already.
        """
        return Call(
            decode=as_model(IndexRows),
            names={"index": index},
            query=key_query(
                values, columns=names_of(columns), page_size=page_size, page_token=page_token
            ),
        )

    @operation("GET", f"{_TABLE}/changes")
    def changes(
        self,
        *,
        after_snapshot_id: int | None = None,
        after_tag: str | None = None,
        after_timestamp: Timestamp | None = None,
        until_snapshot_id: int | None = None,
        until_tag: str | None = None,
        until_timestamp: Timestamp | None = None,
        mode: str | None = None,
        consumer: str | None = None,
        columns: Sequence[str] | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[ChangesPage]:
        """Return a page of the changes of a range of snapshots, oldest first; `pages` returns all pages.

        Args:
            after_snapshot_id: The range begins after this snapshot; 0: with the first one that is kept.
            after_tag: The range begins after the snapshot of this tag.
            after_timestamp: The range begins after the newest snapshot committed then or before.
            until_snapshot_id: The last snapshot of the range; None: the newest.
            until_tag: The tag of the last snapshot of the range.
            until_timestamp: The range ends with the newest snapshot committed then or before.
            mode: `auto`, `delta` (the written records) or `changelog` (only from a changelog).
            consumer: The range begins at the position of this consumer.
            columns: The columns to return, in order; None: all.
            page_size: The largest number of changes.
            page_token: Token of the page before, which stands for all other arguments but `page_size`.
        """
        return Call(
            decode=as_model(ChangesPage),
            query={
                "after_snapshot_id": after_snapshot_id,
                "after_tag": after_tag,
                "after_timestamp": time_text(after_timestamp),
                "until_snapshot_id": until_snapshot_id,
                "until_tag": until_tag,
                "until_timestamp": time_text(until_timestamp),
                "mode": mode,
                "consumer": consumer,
                "columns": names_of(columns),
                "page_size": page_size,
                "page_token": page_token,
            },
        )

    @operation("GET", f"{_TABLE}/consumers")
    def consumers(self) -> Call[ConsumerList]:
        """Return the consumers and leases of the table."""
        return Call(decode=as_model(ConsumerList))

    @operation("PUT", f"{_TABLE}/consumers/{{consumer}}")
    def put_consumer(
        self,
        consumer: str,
        next_snapshot_id: int,
        *,
        confirm: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[ConsumerView]:
        """Set the position of a consumer; `confirm`, its name again, moves one that exists."""
        return Call(
            decode=as_model(ConsumerView),
            names={"consumer": consumer},
            query={"confirm": confirm},
            body=ConsumerPosition(next_snapshot_id=next_snapshot_id),
            headers={"if-match": if_match, "if-none-match": if_none_match},
            # Otherwise the repetition of what succeeded is refused.
            is_repeatable=confirm is not None and if_match is None and if_none_match is None,
        )

    @operation("DELETE", f"{_TABLE}/consumers/{{consumer}}")
    def delete_consumer(
        self,
        consumer: str,
        *,
        confirm: str,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[None]:
        """Delete a consumer, whose name `confirm` repeats."""
        return Call(
            decode=nothing,
            names={"consumer": consumer},
            query={"confirm": confirm},
            headers={"if-match": if_match, "if-none-match": if_none_match},
            is_repeatable=if_match is None and if_none_match is None,
        )


def key_query(key: Key, **options: Scalar | None) -> dict[str, Scalar]:
    """Return a key and the other parameters of an address; None is left out.

    Raises:
        ValueError: An option has the name of a column of the key: the service takes the parameter for the column.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in key.keys() & given.keys():
        message = (
            f"`{name}` is a column of the key, so the request cannot have the option of this name; use a method for several "
            "keys, whose request has both"
        )
        raise ValueError(message)
    return {**{name: json_value(value) for name, value in key.items()}, **given}


def names_of(columns: Sequence[str] | None) -> str | None:
    """Return columns as the value of a parameter."""
    return None if columns is None else ",".join(columns)


def time_text(time: Timestamp | None) -> str | int | None:
    """Return a time as the value of a parameter."""
    return time.isoformat() if isinstance(time, datetime) else time


def row_keys(keys: Keys, *, timestamp: Timestamp | None, **fields: Any) -> RowKeys:
    """Return the body of a request for several rows; fields that are None are left out."""
    given = {**fields, "timestamp": time_text(timestamp)}
    set_fields = {name: value for name, value in given.items() if value is not None}
    return RowKeys(keys=tuple(keys_of(keys)), **set_fields)
