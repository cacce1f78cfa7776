"""The work of each kind of operation: a call of the engine, or several for parts of a table.

Each can be begun once more at any point after its process has ended: a bucket that is compacted, a snapshot that has expired
and a file that is deleted are not found again, and a rescale continues. Only a rollback could do harm, by removing snapshots
that were committed after an earlier attempt. So it is refused once the table has other snapshots than those that were there
when it began, and than its own.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from braid.lake import (
    Catalog,
    Clock,
    CommitConflict,
    CompactionResult,
    FileIO,
    InvalidRequest,
    Problem,
    Table,
    TableNotFound,
)
from braid.lake.format.bucket import BucketId
from braid.lake.format.partition_path import partition_directory
from braid.registry.registrar import Registrar
from braid.registry.stopped_streams import check_streams_stopped
from braid.registry.storage_changes import named_snapshot
from braid.schemas import (
    CompactionRequest,
    OperationDocument,
    OperationProgress,
    OrphanCleaningRequest,
    RescaleRequest,
    RollbackRequest,
    SnapshotExpiryRequest,
    TagDeletionRequest,
)

STEPS_MAX: Final = 50
"""Parts of a compaction: after each its progress is stored, and it can be canceled."""

FILES_SHOWN: Final = 100
"""Orphan files that a result names."""

Result = dict[str, Any]


class Attempt(Protocol):
    """The attempt that does the work."""

    def proceed(self, progress: OperationProgress | None = None) -> None:
        """Store the progress, unless the work is to end: then this raises."""
        ...

    def begin_rollback(self, newest: str) -> str:
        """Store what identifies the newest snapshot, unless an earlier attempt has; return what is stored."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationWork:
    """Does the work of operations.

    Attributes:
        catalog: The tables.
        registrar: The documents.
        file_io: Storage.
        warehouse: Absolute path.
        clock: Decides which leases of streams have expired.
    """

    catalog: Catalog
    registrar: Registrar
    file_io: FileIO
    warehouse: str
    clock: Clock

    def do(self, operation: OperationDocument, attempt: Attempt) -> Result:
        """Do the work of an operation and return its result.

        Raises:
            LakeError: The engine refuses or fails; begin again if the error is retryable.
            RegistryError: Likewise, for the registry.
        """
        table = self.catalog.table(operation.identifier)
        attempt.proceed()
        if operation.table_created_ms not in (None, table_created_ms(table)):
            message = f"the table {operation.identifier} for which this was requested was dropped; this one was created later"
            raise TableNotFound(message)
        match operation.request:
            case CompactionRequest() as request:
                return _compact(table, request, attempt, user=operation.id)
            case SnapshotExpiryRequest() as request:
                return _expire(table, request, created_ms=operation.created_ms)
            case OrphanCleaningRequest() as request:
                return _clean_orphans(table, request)
            case RescaleRequest(buckets=buckets):
                done = asdict(table.rescale(buckets, commit_user=operation.id))
                with suppress(TableNotFound):  # a table that is not registered has no declaration
                    self.registrar.record_buckets(operation.identifier, buckets)
                return done
            case TagDeletionRequest() as request:
                return _delete_tag(table, request)
            case RollbackRequest() as request:
                return self._roll_back(table, request, attempt, user=operation.id)

    def _roll_back(
        self, table: Table, request: RollbackRequest, attempt: Attempt, *, user: str
    ) -> Result:
        check_streams_stopped(self.file_io, self.warehouse, table.identifier, clock=self.clock)
        newest = table.latest_snapshot()
        if newest is not None:
            # Not the id, which a later snapshot has again after a rollback.
            known = newest.delta_manifest_list
            is_same = attempt.begin_rollback(known) == known or newest.commit_user == user
            if not is_same and newest.id != (
                request.snapshot_id or named_snapshot(table, request.tag or "")
            ):
                message = (
                    f"{table.identifier} has snapshot {newest.id} of another writer, which was not there when the "
                    "rollback began\nhint: look at the table, and request the rollback anew"
                )
                raise RollbackOvertaken(message)
        done = table.rollback(snapshot_id=request.snapshot_id, tag=request.tag, commit_user=user)
        return asdict(done)


def table_created_ms(table: Table) -> int | None:
    """Return when a table was created, milliseconds since the epoch; None: it is not known."""
    first = table.find_schema(0)
    return None if first is None else first.time_millis or None


class RollbackOvertaken(CommitConflict):
    """Others have committed since the rollback began."""

    retryable = False


def _compact(table: Table, request: CompactionRequest, attempt: Attempt, *, user: str) -> Result:
    meant = _bucket_filter(table, request)
    due = sorted(one for one in table.buckets_to_compact(full=request.full) if meant(one))
    total, done = len(due), CompactionResult()
    size = max(1, -(-total // STEPS_MAX))
    for start in range(0, total, size):
        attempt.proceed(OperationProgress(done=start, total=total, unit="buckets"))
        part = due[start : start + size]
        done = done.plus(table.compact(full=request.full, buckets=part, commit_user=user))
    attempt.proceed(OperationProgress(done=total, total=total, unit="buckets"))
    result = asdict(done)
    return result | {"dropped": [asdict(one) for one in done.dropped]}


def _bucket_filter(table: Table, request: CompactionRequest) -> Callable[[BucketId], bool]:
    """Return whether a bucket is among the requested ones.

    Raises:
        InvalidRequest: The table has none of the partitions or buckets that are named.
    """
    present = set(table.runs_per_bucket())
    directories = {one: partition_directory(one, table.schema).strip("/") for one, _ in present}
    partitions = {one.strip("/") for one in request.partitions}
    numbers = set(request.buckets)
    problems = [
        *_unknown("partitions", request.partitions, partitions - set(directories.values())),
        *_unknown("buckets", request.buckets, numbers - {number for _, number in present}),
    ]
    if problems:
        message = f"{table.identifier} does not have all that is to be compacted"
        raise InvalidRequest(message, problems=problems)

    def is_meant(bucket: BucketId) -> bool:
        partition, number = bucket
        return (not partitions or directories.get(partition) in partitions) and (
            not numbers or number in numbers
        )

    return is_meant


def _unknown(field: str, given: Sequence[object], missing: set[Any]) -> list[Problem]:
    hint = f"`GET …/inspect/{'partitions' if field == 'partitions' else 'buckets'}` lists them"
    return [
        Problem(
            field=f"{field}[{place}]",
            value=str(one),
            message="the table has no rows there",
            hint=hint,
        )
        for place, one in enumerate(given)
        if (one.strip("/") if isinstance(one, str) else one) in missing
    ]


def _expire(table: Table, request: SnapshotExpiryRequest, *, created_ms: int) -> Result:
    age = request.retained_seconds
    done = table.expire(
        retain_min=request.retain_min,
        retain_max=request.retain_max,
        older_than_ms=None if age is None else created_ms - age * 1_000,
        max_deletes=request.max_deletes,
        dry_run=request.dry_run,
    )
    return {"dry_run": request.dry_run, **asdict(done)}


def _clean_orphans(table: Table, request: OrphanCleaningRequest) -> Result:
    report = table.clean_orphans(
        min_age_ms=request.min_age_seconds * 1_000, delete=not request.dry_run
    )
    shown = [
        {
            "path": file.path.removeprefix(f"{table.path}/"),
            "bytes": file.size,
            "reason": file.reason,
        }
        for file in report.files[:FILES_SHOWN]
    ]
    return {
        "dry_run": request.dry_run,
        "files_total": len(report.files),
        "bytes_total": report.size,
        "younger_files": report.younger_files,
        "files": shown,
    }


def _delete_tag(table: Table, request: TagDeletionRequest) -> Result:
    found = named_snapshot(table, request.tag)
    if found is None or request.snapshot_id not in (None, found):
        # The tag is gone, by an earlier attempt or another client.
        return {"deleted_files": 0, "left_over": None}
    done = table.delete_tag(request.tag)
    return {"deleted_files": done.deleted_files, "left_over": done.left_over}
