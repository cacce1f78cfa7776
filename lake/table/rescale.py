"""Another bucket count, as the facade offers it, and how writers get along with it."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from lake.declaration.validation import validate_schema
from lake.errors import CommitConflict, InvalidRequest, LakeError, Problem, UnsupportedFeature
from lake.format.schema import TableSchema
from lake.maintenance.rescale.rescale_result import RescaleResult
from lake.maintenance.rescale.rescale_writer import RescaleWriter
from lake.maintenance.rescale.table_rescale import TableRescale
from lake.options import BUCKETS_MAX, POSTPONE_BUCKET
from lake.snapshots.table_store import TableStore
from lake.table.arguments import refuse_argument
from lake.table.opened_table import OpenedTable
from lake.write.writable import check_writable

WAIT_MS: Final = 60_000
"""How long a writer waits for the end of a rescale, which needs it out of the way for a moment."""

_WAIT_MS_FIRST: Final = 10
_WAIT_MS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class TableRescaling:
    """What gives a table another bucket count.

    Attributes:
        table: Whose count it is.
    """

    table: OpenedTable

    def rescale(self, buckets: int, *, commit_user: str | None) -> RescaleResult:
        """Rescale the table (see `Table.rescale`)."""
        self.table.refresh()
        user = commit_user or str(self.table.store.new_uuid())
        try:
            return self._rescale(buckets, user=user).run()
        finally:
            with suppress(LakeError):
                self.table.refresh()

    def follow_schema(self, known: int | None = None, *, wait_ms: int) -> bool:
        """Wait for the end of a rescale (see `Table.follow_schema`).

        Args:
            known: Id of the schema that others are newer than; None means that of the table. Who
                shares the table with other threads knows better than the table.
            wait_ms: How long at most.
        """
        check_wait(wait_ms)
        known = self.table.store.schema.id if known is None else known
        self.table.refresh()
        has_waited = wait_while_rescaled(self._is_under_way, wait_ms=wait_ms)
        return has_waited or self.table.store.schema.id > known

    def _rescale(self, buckets: int, *, user: str) -> TableRescale:
        store = self.table.store
        committer = self.table.committer()
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
                older_schemas=partial(self.table.older_schemas, store.schema),
                routing=routing,
                clock=store.clock,
                uuid=store.new_uuid(),
            ),
            vectors=store.vectors,
            committer=committer,
            newest=self.table.newest_live,
            commit_user=user,
            clock=store.clock,
        )

    def _is_under_way(self) -> bool:
        """Return whether a rescale is between its schema and its last commit."""
        self.table.refresh()
        buckets = self.table.store.schema.table_options.bucket
        entries = self.table.newest_live()[1].entries
        return buckets > 0 and any(entry.total_buckets != buckets for entry in entries)


def _routing(store: TableStore, buckets: int) -> TableSchema:
    """Return the schema with the count: the newest one, or the one that follows it."""
    if store.schema.table_options.bucket == buckets:
        return store.schema
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
    """Refuse counts that are none, and tables that have none.

    Raises:
        InvalidRequest: No count.
        UnsupportedFeature: The table makes its buckets as it needs them, or is to do so.
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
            "the postpone bucket is not in this version"
            if is_postpone
            else "only a fixed bucket count becomes another one"
        ),
        hint="choose a bucket count from 1; a table without one has to be written into a new one",
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
    """Wait until no rescale is between its schema and its last commit.

    Args:
        is_under_way: Whether one is; a look at the newest snapshot.
        wait_ms: At most, of waits alone.
        sleep: Waits that many seconds.

    Returns:
        Whether there was anything to wait for.

    Raises:
        CommitConflict: It takes longer, or broke off.
    """
    waited, pause_ms = 0, _WAIT_MS_FIRST
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


def check_wait(wait_ms: object) -> None:
    """Refuse what is no duration."""
    if isinstance(wait_ms, bool) or not isinstance(wait_ms, int) or wait_ms < 0:
        problem = Problem(
            field="wait_ms", value=repr(wait_ms), message="expected milliseconds, 0 or more"
        )
        message = "an argument is of the wrong kind"
        raise InvalidRequest(message, problems=[problem])
