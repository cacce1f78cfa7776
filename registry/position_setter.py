"""Setter of a stopped stream's position: checks the move (`position_rules`), then sets it with one commit; also a dry run.

The move is a commit of the table, not a version of its document. So its entry in the audit log is created before it.
"""

from collections.abc import Callable, Mapping

from braid.lake import GroupOrder, StreamPosition, Table
from braid.registry.errors import DefinitionRefused, StreamNotStopped
from braid.registry.position_rules import MovePlan, plan_move
from braid.registry.store.audit_log import UNKNOWN_ACTOR, AuditNote
from braid.registry.store.documents import RegistryStore
from braid.registry.store.revision import NO_PRECONDITION, Precondition, revision_of
from braid.registry.store.stored_documents import check_features
from braid.registry.stream_entries import entry_of
from braid.registry.takeover import COMMIT_USER
from braid.schemas import (
    Actor,
    AuditAction,
    AuditChange,
    Contract,
    DesiredState,
    OffsetsRequest,
    PartitionChange,
    TableDocument,
    TopicOffsets,
)
from braid.schemas.field_problems import json_pointer


class _PositionRevision(Contract):
    epoch: int
    topic_id: str
    offsets: Mapping[int, int]


def position_revision(position: StreamPosition | None) -> str | None:
    """Return a digest that changes whenever a stream is claimed, commits or is moved; None without a position."""
    if position is None:
        return None
    return revision_of(
        _PositionRevision(
            epoch=position.epoch, topic_id=position.topic_id, offsets=position.offsets
        )
    )


class PositionSetter:
    """Moves the positions of stopped streams of one warehouse."""

    def __init__(
        self,
        store: RegistryStore,
        open_table: Callable[[str], Table],
        *,
        actor: Actor = UNKNOWN_ACTOR,
    ) -> None:
        """Create a setter.

        Args:
            store: The documents, and the holders of streams.
            open_table: Returns the table of an identifier.
            actor: Whom the audit log names as the one who moves the positions.
        """
        self._store = store
        self._open_table = open_table
        self._actor = actor

    def plan(
        self,
        document: TableDocument,
        stream: str,
        request: OffsetsRequest,
        *,
        measured: TopicOffsets | None,
    ) -> MovePlan:
        """Return what `set_position` would do, and the rules by which it would refuse; changes nothing.

        Whether the stream is stopped is not checked.

        Raises:
            StreamNotFound: The table has no such stream.
        """
        committer = self._open_table(document.identifier).committer()
        position = committer.stream_positions().get(stream)
        return self._plan(
            document, stream, request, position, committer.group_orders(), measured=measured
        )

    def set_position(
        self,
        document: TableDocument,
        stream: str,
        request: OffsetsRequest,
        *,
        measured: TopicOffsets | None,
        precondition: Precondition = NO_PRECONDITION,
    ) -> Mapping[int, PartitionChange]:
        """Move a stopped stream to other offsets, and return the effect by partition that moved.

        Args:
            document: The table's, just read.
            stream: The stream's name.
            request: The offsets.
            measured: The topic's offsets as last measured; None: never.
            precondition: What the position has to be (`position_revision`).

        Raises:
            StreamNotFound: The table has no such stream.
            StreamNotStopped: Its desired state is not STOPPED, or a runner still holds it.
            FeaturesMissing: A newer version has registered the stream.
            PreconditionFailed: The position is not the one that the caller has read.
            DefinitionRefused: The move breaks rules; `problems` has all of them.
            StreamFenced, OffsetMismatch: The stream was started at the same time; nothing was changed.
            LakeError: The move cannot be committed; read the offsets, then decide again.
        """
        identifier = document.identifier
        self._check_stopped(document, stream)
        committer = self._open_table(identifier).committer()
        position = committer.stream_positions().get(stream)
        precondition.check(position_revision(position))
        plan = self._plan(
            document, stream, request, position, committer.group_orders(), measured=measured
        )
        if plan.problems:
            message = f"the position of the stream {stream} of {identifier} cannot be set"
            raise DefinitionRefused(message, problems=plan.problems)
        if plan.partitions:
            assert position is not None, "only a position moves"
            # The epoch protects the data, not the checks above: a stream that was started meanwhile has
            # another one, and then the commit fails.
            offsets = {partition: change.after for partition, change in plan.partitions.items()}
            note = AuditNote(actor=self._actor, action=AuditAction.SET_OFFSETS, stream=stream)
            self._store.audit.record(note, identifier, changes=_changes(stream, plan.partitions))
            committer.move_stream(position, offsets=offsets, commit_user=COMMIT_USER)
        return plan.partitions

    def _check_stopped(self, document: TableDocument, stream: str) -> None:
        entry = entry_of(document, stream)
        check_features(document, entry)
        runner = self._store.holders().holder(document.identifier, stream)
        if entry.desired_state is not DesiredState.STOPPED:
            state = f"the desired state of the stream {stream} is {entry.desired_state.value}"
        elif runner is not None:
            state = f"the stream {stream} is not released yet, {runner} holds it"
        else:
            return
        message = f"{state}\nhint: stop it, and wait until its runner has released it"
        raise StreamNotStopped(message)

    def _plan(
        self,
        document: TableDocument,
        stream: str,
        request: OffsetsRequest,
        position: StreamPosition | None,
        orders: Mapping[str, GroupOrder],
        *,
        measured: TopicOffsets | None,
    ) -> MovePlan:
        return plan_move(
            request,
            table=document.table,
            entry=entry_of(document, stream),
            position=position,
            orders=orders,
            measured=measured,
        )


def _changes(stream: str, partitions: Mapping[int, PartitionChange]) -> tuple[AuditChange, ...]:
    return tuple(
        AuditChange(
            pointer=json_pointer(("streams", stream, "offsets", partition)),
            before=change.before,
            after=change.after,
        )
        for partition, change in sorted(partitions.items())
    )
