"""Another bucket count, as the facade offers it, and how writers get along with it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from lake.commit.committer import TableCommitter
from lake.errors import CommitConflict, InvalidRequest, Problem, UnsupportedFeature
from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.maintenance.rescale import TableRescale
from lake.maintenance.rescale_result import RescaleResult
from lake.maintenance.rescale_writer import RescaleWriter
from lake.maintenance.table_compaction import LiveTable
from lake.merge.validation import validate_schema
from lake.options import POSTPONE_BUCKET
from lake.snapshots.deletion_vectors import VectorStore
from lake.snapshots.schema_store import SchemaStore
from lake.table.arguments import refuse_argument
from lake.table.upkeep import refuse_branch
from lake.write.writable import check_writable

WAIT_MS: Final = 60_000
"""How long a writer waits for the end of a rescale, which needs it out of the way for a moment."""

_WAIT_MS_FIRST: Final = 10
_WAIT_MS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRescaling:
    """What gives a table another bucket count.

    Attributes:
        file_io: Storage.
        paths: Of the table or branch.
        schema: Newest.
        schemas: Of the table.
        newest: Reads the newest snapshot and what is live in it.
        vectors: Reads deletion vectors.
        clock: Says what time it is.
        new_uuid: Names files.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    schemas: SchemaStore
    newest: Callable[[], tuple[Snapshot | None, LiveTable]]
    vectors: VectorStore
    clock: Clock
    new_uuid: Callable[[], UUID]

    def rescale(self, committer: TableCommitter, buckets: int, *, user: str) -> RescaleResult:
        """Rescale the table (see `Table.rescale`)."""
        refuse_branch(self.paths)
        check_rescalable(self.schema, buckets)
        routing = self._routing(buckets)
        rescale = TableRescale(
            file_io=self.file_io,
            schema=self.schema,
            routing=routing,
            schemas=self.schemas,
            writer=RescaleWriter(
                file_io=self.file_io,
                paths=self.paths,
                schema=self.schema,
                routing=routing,
                clock=self.clock,
                uuid=self.new_uuid(),
            ),
            vectors=self.vectors,
            committer=committer,
            newest=self.newest,
            commit_user=user,
            clock=self.clock,
        )
        return rescale.run()

    def _routing(self, buckets: int) -> TableSchema:
        """Return the schema with the count: the newest one, or the one that follows it."""
        if self.schema.table_options.bucket == buckets:
            return self.schema
        following = replace(
            self.schema,
            id=self.schema.id + 1,
            options={**self.schema.options, "bucket": str(buckets)},
            time_millis=self.clock.now_ms(),
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
    if isinstance(buckets, bool) or not isinstance(buckets, int) or buckets == 0:
        refuse_argument("buckets", buckets, "a bucket count from 1")
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
