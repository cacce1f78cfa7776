"""Rescale of an opened table to another bucket count, and the wait of writers for its end."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import CommitConflict, LakeError, Problem, UnsupportedFeature
from braid.lake.format.schema import TableSchema
from braid.lake.maintenance.rescale.rescale_result import RescaleResult
from braid.lake.maintenance.rescale.rescale_writer import RescaleWriter
from braid.lake.maintenance.rescale.table_rescale import TableRescale
from braid.lake.options.table_options import BUCKETS_MAX, POSTPONE_BUCKET
from braid.lake.snapshots.table_store import TableStore
from braid.lake.table.arguments import check_wait, refuse_argument
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.operations.iceberg import publish_or_log
from braid.lake.write.writable import check_writable

WAIT_MS: Final = 60_000
"""Longest wait of a writer for the end of a rescale, in milliseconds; its commits are refused meanwhile."""

_WAIT_MS_FIRST: Final = 10
_WAIT_MS_MAX: Final = 1_000


def rescale(table: OpenedTable, buckets: int, *, commit_user: str | None) -> RescaleResult:
    """Rescale a table (see `Table.rescale`)."""
    table.refresh()
    user = commit_user or str(table.store.new_uuid())
    try:
        result = _rescale(table, buckets, user=user).run()
    finally:
        # Refreshed even after an error: the schema with the new count may have been published.
        with suppress(LakeError):
            table.refresh()
    publish_or_log(table.store)
    return result


def follow_schema(table: OpenedTable, known: int | None = None, *, wait_ms: int) -> bool:
    """Wait for the end of a rescale (see `Table.follow_schema`).

    Args:
        table: The table.
        known: Id of the schema that the newest is compared with; None means the schema of `table`.
            A caller that shares the table with other threads gives the id it knows, as they may
            have refreshed the table.
        wait_ms: Longest wait.
    """
    check_wait(wait_ms)
    known = table.store.schema.id if known is None else known
    table.refresh()
    has_waited = wait_while_rescaled(lambda: _is_under_way(table), wait_ms=wait_ms)
    return has_waited or table.store.schema.id > known


def _rescale(table: OpenedTable, buckets: int, *, user: str) -> TableRescale:
    store = table.store
    committer = table.committer()
    check_rescalable(store.schema, buckets)
    routing = _routing(store, buckets)
    return TableRescale(
        file_io=store.file_io,
        schema=store.schema,
        routing=routing,
        schemas=store.schemas,
        writer=RescaleWriter(
            file_io=store.file_io,
            paths=store.paths,
            schema=store.schema,
            older_schemas=partial(table.older_schemas, store.schema),
            routing=routing,
            clock=store.clock,
            uuid=store.new_uuid(),
        ),
        vectors=store.vectors,
        committer=committer,
        newest=table.newest_live,
        whole=table.whole,
        commit_user=user,
        clock=store.clock,
    )


def _is_under_way(table: OpenedTable) -> bool:
    """Return whether a rescale has published its schema and not yet made its last commit."""
    table.refresh()
    buckets = table.store.schema.table_options.bucket
    entries = table.newest_live()[1].entries
    # The schema with the new count comes first, and the last commit replaces the last files routed for
    # the old one: between them there are files of another count.
    return buckets > 0 and any(entry.total_buckets != buckets for entry in entries)


def _routing(store: TableStore, buckets: int) -> TableSchema:
    """Return the schema with the bucket count: the newest one, or its successor."""
    if store.schema.table_options.bucket == buckets:
        return store.schema
    assert buckets > 0, "`check_rescalable` has refused other counts"
    following = replace(
        store.schema,
        id=store.schema.id + 1,
        options={**store.schema.options, "bucket": str(buckets)},
        time_millis=store.clock.now_ms(),
    )
    validate_schema(following)
    check_writable(following)
    return following


def check_rescalable(schema: TableSchema, buckets: object) -> None:
    """Refuse what is no bucket count, and tables without a fixed one.

    Raises:
        InvalidRequest: `buckets` is no count.
        UnsupportedFeature: The table has dynamic or postpone buckets, or is to get them.
    """
    if (
        isinstance(buckets, bool)
        or not isinstance(buckets, int)
        or buckets == 0
        or buckets > BUCKETS_MAX
    ):
        refuse_argument("buckets", buckets, f"a bucket count from 1 to {BUCKETS_MAX}")
    if schema.table_options.bucket > 0 and buckets > 0:
        return
    is_postpone = POSTPONE_BUCKET in (buckets, schema.table_options.bucket)
    problem = Problem(
        field="buckets",
        value=str(buckets),
        message=(
            "this version does not support the postpone bucket"
            if is_postpone
            else "the present and the new bucket count both have to be at least 1"
        ),
        hint="choose a bucket count of at least 1; if the table itself has no fixed count, write its "
        "rows into a new table",
    )
    message = (
        f"a table with `bucket = {schema.table_options.bucket}` cannot be rescaled to {buckets}"
    )
    raise UnsupportedFeature(message, problems=[problem])


def wait_while_rescaled(
    is_under_way: Callable[[], bool],
    *,
    wait_ms: int = WAIT_MS,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until no rescale is under way, which `is_under_way` determines.

    Args:
        is_under_way: Returns whether a rescale is under way; reads the newest snapshot.
        wait_ms: Longest sum of the pauses; the reads between them come on top.
        sleep: Pauses for a number of seconds.

    Returns:
        Whether a rescale was under way.

    Raises:
        CommitConflict: The rescale takes longer, or was interrupted.
    """
    waited, pause_ms = 0, _WAIT_MS_FIRST
    # Pauses double from 10 ms to a second: a rescale needs writers out of the way only at its end,
    # for a moment, and a writer should notice that soon.
    while is_under_way():
        if waited >= wait_ms:
            message = (
                f"the table has had files of another bucket count for {waited} ms or longer\n"
                "hint: wait for the end of the rescale, or run it again if it broke off"
            )
            raise CommitConflict(message)
        sleep(pause_ms / 1000)
        waited += pause_ms
        pause_ms = min(2 * pause_ms, _WAIT_MS_MAX)
    return waited > 0
