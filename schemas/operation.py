"""Operations: long work on a table that is requested over HTTP, and carried out by a process of the service.

Each kind has a request, whose fields are those of the body of its POST.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from braid.schemas.contract import (
    Contract,
    JsonValue,
    NonNegativeInt,
    PositiveInt,
    StrictBool,
    at_most,
)
from braid.schemas.problem import FieldProblem, ProblemCode

PARTS_MAX: Final = 1_000
"""Partitions, or buckets, that one request names."""

HOUR_SECONDS: Final = 3_600
_NAME_MAX: Final = 1_000


class OperationState(StrEnum):
    """What has become of an operation."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"

    @property
    def is_final(self) -> bool:
        """Whether it stays so."""
        return self not in (OperationState.PENDING, OperationState.RUNNING)


class CompactionRequest(Contract):
    """Compaction of a table, or of a part of it.

    Attributes:
        kind: The kind of operation; it follows from the address.
        full: Merge each bucket to one sorted run; else only what is due.
        partitions: Directories of partitions, such as `day=2026-01-31`; empty: all.
        buckets: Numbers of buckets; empty: all.
    """

    kind: Literal["compaction"] = "compaction"
    full: StrictBool = True
    partitions: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=_NAME_MAX)], ...], at_most(PARTS_MAX)
    ] = ()
    buckets: Annotated[tuple[NonNegativeInt, ...], at_most(PARTS_MAX)] = ()


class SnapshotExpiryRequest(Contract):
    """Removal of old snapshots, and of the files that only they need.

    Attributes:
        kind: The kind of operation; it follows from the address.
        dry_run: Report which snapshots would be removed, and remove nothing.
        retain_min: Smallest number of snapshots that stay; None: that of the table's options.
        retain_max: Largest number of snapshots that stay for their age; None: that of the options.
        retained_seconds: Age up to which snapshots stay, at the time of the request; None: that of the options.
        max_deletes: Largest number of snapshots that are removed; None: that of the options.
    """

    kind: Literal["snapshot_expiry"] = "snapshot_expiry"
    dry_run: StrictBool = True
    retain_min: PositiveInt | None = None
    retain_max: PositiveInt | None = None
    retained_seconds: NonNegativeInt | None = None
    max_deletes: PositiveInt | None = None


class OrphanCleaningRequest(Contract):
    """Search for files that nothing in the table needs, and their deletion.

    Attributes:
        kind: The kind of operation; it follows from the address.
        dry_run: Report the files, and delete nothing.
        min_age_seconds: Younger files stay, because a writer may be about to commit them; at least an hour.
    """

    kind: Literal["orphan_cleaning"] = "orphan_cleaning"
    dry_run: StrictBool = True
    min_age_seconds: Annotated[PositiveInt, Field(ge=HOUR_SECONDS)] = 24 * HOUR_SECONDS


class RescaleRequest(Contract):
    """Change of a table's number of buckets, while streams run.

    Attributes:
        kind: The kind of operation; it follows from the address.
        buckets: The new number.
    """

    kind: Literal["rescale"] = "rescale"
    buckets: Annotated[PositiveInt, Field(le=100_000)]


class TagDeletionRequest(Contract):
    """Deletion of a tag, and of the files that only it needs.

    Attributes:
        kind: The kind of operation; it follows from the address.
        tag: Its name.
        snapshot_id: The snapshot that it named when the deletion was requested: a later tag of the name stays. None: any.
    """

    kind: Literal["tag_deletion"] = "tag_deletion"
    tag: str
    snapshot_id: PositiveInt | None = None


class RollbackRequest(Contract):
    """Return of a table, whose streams are stopped, to an older state; all later snapshots are lost.

    Attributes:
        kind: The kind of operation; it follows from the address.
        snapshot_id: The snapshot; None: `tag` names it.
        tag: The tag; None: `snapshot_id` names it.
    """

    kind: Literal["rollback"] = "rollback"
    snapshot_id: PositiveInt | None = None
    tag: Annotated[str, Field(min_length=1, max_length=_NAME_MAX)] | None = None


OperationRequest: TypeAlias = Annotated[
    CompactionRequest
    | SnapshotExpiryRequest
    | OrphanCleaningRequest
    | RescaleRequest
    | TagDeletionRequest
    | RollbackRequest,
    Field(discriminator="kind"),
]


class OperationProgress(Contract):
    """How far an operation is.

    Attributes:
        done: Units that are done.
        total: Units in all.
        unit: What is counted, such as `buckets`.
    """

    done: int = Field(ge=0)
    total: int = Field(ge=0)
    unit: str


class OperationProblem(Contract):
    """Why an operation has failed.

    Attributes:
        code: The kind of problem, as in the answers of the API.
        detail: The problem in words.
        errors: Problems of single fields.
    """

    code: ProblemCode
    detail: str
    errors: tuple[FieldProblem, ...] = ()


class OperationDocument(Contract):
    """An operation as it is stored.

    Attributes:
        id: `<database>.<table>.<20 hexadecimal digits>`.
        database: The first part of the table's identifier.
        table: The second part.
        request: What is to be done.
        state: What has become of it.
        created_ms: Time of the request, milliseconds since the epoch, UTC.
        table_created_ms: When the table was created, milliseconds since the epoch, UTC: a later table of the name is another one;
            None: it is not known.
        requested_by: Name of the client; None: it has not identified itself.
        attempt: How often a process has begun it.
        fruitless: How many of the newest attempts have begun without a part of the work being done since.
        started_ms: When a process has first begun it; None: none has.
        finished_ms: When it has ended; None: it has not.
        cancel_requested: Whether it is to end before it is complete.
        progress: How far it is; None: its work has no parts, or has not begun.
        newest_before: Name of the list of changes of the newest snapshot when a rollback began, which no other snapshot has; None: it
            has not begun.
        retry_ms: No process begins it before this time; None: it can be begun.
        result: The result; None: it has not succeeded.
        problem: Why it has failed, or why its last attempt has; None: neither has.
    """

    id: str
    database: str
    table: str
    request: OperationRequest
    state: OperationState = OperationState.PENDING
    created_ms: int
    table_created_ms: int | None = None
    requested_by: str | None = None
    attempt: int = Field(default=0, ge=0)
    fruitless: int = Field(default=0, ge=0)
    started_ms: int | None = None
    finished_ms: int | None = None
    cancel_requested: bool = False
    progress: OperationProgress | None = None
    newest_before: str | None = None
    retry_ms: int | None = None
    result: dict[str, JsonValue] | None = None
    problem: OperationProblem | None = None

    @property
    def identifier(self) -> str:
        """`<database>.<table>`."""
        return f"{self.database}.{self.table}"


class OperationView(Contract):
    """An operation as it is answered.

    Attributes:
        id: Its id, part of its address `/v1/operations/{id}`.
        kind: What it does.
        database: The first part of the table's identifier.
        table: The second part.
        state: What has become of it.
        request: What is to be done.
        created_at: Time of the request, ISO 8601, UTC.
        requested_by: Name of the client; null: it has not identified itself.
        started_at: When a process has first begun it; null: none has.
        finished_at: When it has ended; null: it has not.
        attempts: How often a process has begun it: more than once if a process has ended before.
        cancel_requested: Whether it is to end before it is complete.
        progress: How far it is; null: its work has no parts, or has not begun.
        result: The result of its kind; null: it has not succeeded.
        problem: Why it has failed, or why it is begun once more; null: neither holds.
    """

    id: str
    kind: str
    database: str
    table: str
    state: OperationState
    request: OperationRequest
    created_at: str
    requested_by: str | None
    started_at: str | None
    finished_at: str | None
    attempts: int
    cancel_requested: bool
    progress: OperationProgress | None
    result: dict[str, JsonValue] | None
    problem: OperationProblem | None


class OperationList(Contract):
    """A page of operations: those that have not ended, then the others, the newest first.

    Attributes:
        operations: The operations.
        next_page_token: Token of the next page; null: this is the last one.
    """

    operations: tuple[OperationView, ...]
    next_page_token: str | None = None
