"""Operations on the feature views of a table."""

from collections.abc import Sequence

from braid.client.answers import as_model
from braid.client.keys import Key, Keys
from braid.client.operation import Call, Resource, operation
from braid.client.row_operations import Timestamp, key_query, names_of, row_keys
from braid.schemas import ViewRow, ViewRows

_VIEW = "/v1/tables/{database}/{table}/views/{view}"


class ViewOperations(Resource):
    """A feature view of a table."""

    @operation("GET", f"{_VIEW}/rows")
    def row(
        self,
        key: Key,
        *,
        columns: Sequence[str] | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
    ) -> Call[ViewRow]:
        """Return the row of a key as the view answers it, with its status; see `Table.row`.

        Raises:
            RowNotFound: There is no such row, or the view answers so for a row that is incomplete or stale.
            ViewNotFound: The table has no such view.
        """
        return Call(
            decode=as_model(ViewRow),
            query=key_query(
                key,
                columns=names_of(columns),
                min_snapshot=min_snapshot,
                max_staleness_ms=max_staleness_ms,
                read_after=read_after,
            ),
        )

    @operation("POST", f"{_VIEW}/lookup")
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
    ) -> Call[ViewRows]:
        """Return the rows of up to 1,000 keys, None where `row` raises `RowNotFound`. A view answers from the newest snapshot only."""
        return Call(
            decode=as_model(ViewRows),
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
