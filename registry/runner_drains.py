"""Drains of runners: a drained one gets no stream any more, and gives its streams away one by one."""

from braid.lake import InvalidRequest
from braid.registry.names import is_runner_name
from braid.registry.placement.assignment import Assignment
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.audit_log import AuditLog, AuditNote
from braid.registry.store.revision import NO_PRECONDITION, Precondition, revision_of
from braid.schemas import Actor, AuditAction, AuditChange
from braid.schemas.field_problems import json_pointer
from braid.schemas.resource_lists import RunnerDrain


def set_drained(
    assignments: AssignmentStore,
    audit: AuditLog,
    name: str,
    *,
    is_drained: bool,
    actor: Actor,
    precondition: Precondition = NO_PRECONDITION,
) -> Assignment:
    """Drain a runner, or end its drain, and return the assignment then; the runner need not be running.

    Args:
        assignments: The warehouse's assignment.
        audit: The audit log, which gets an entry if something changes.
        name: The runner's name. The drain holds for each process of the name, until it is ended.
        is_drained: Whether it is to be drained.
        actor: Who requests it.
        precondition: What has to hold of the drain, which exists while the runner is drained.

    Raises:
        InvalidRequest: The text is not the name of a runner.
        PreconditionFailed: The condition does not hold.
        CorruptData: The assignment cannot be read.
        RegistryConflict: Every attempt lost a race.
    """
    check_runner_name(name)

    def changed(assignment: Assignment) -> Assignment:
        precondition.check(drain_revision(assignment, name))
        return assignment.with_drained(name, is_drained=is_drained)

    before = assignments.read().value
    changed(before)
    was_drained = name in before.drained
    if was_drained != is_drained:
        action = AuditAction.DRAIN_RUNNER if is_drained else AuditAction.UNDRAIN_RUNNER
        change = AuditChange(
            pointer=json_pointer(("runners", name, "drained")), before=was_drained, after=is_drained
        )
        audit.record(AuditNote(actor=actor, action=action), None, changes=(change,))
    return assignments.change(changed).value


def drain_revision(assignment: Assignment, name: str) -> str | None:
    """Return the revision of the drain of a runner; None: the runner is not drained."""
    if name not in assignment.drained:
        return None
    return revision_of(RunnerDrain(runner=name, drained=True, joined=False, streams=()))


def check_runner_name(name: str) -> None:
    """Check that a text can be the name of a runner.

    Raises:
        InvalidRequest: It cannot.
    """
    if not is_runner_name(name):
        message = (
            f"{name[:200]!r} is not the name of a runner\n"
            "hint: names have letters, digits, `-`, `_` and `.`, without a `.` at the beginning"
        )
        raise InvalidRequest(message)


def drain_of(assignment: Assignment, name: str) -> RunnerDrain:
    """Return how far the drain of a runner is.

    Args:
        assignment: The current assignment.
        name: The runner's name.
    """
    member = assignment.runners.get(name)
    streams = {} if member is None else assignment.streams_of(member.owner)
    return RunnerDrain(
        runner=name,
        drained=name in assignment.drained,
        joined=member is not None,
        streams=tuple(sorted(streams)),
    )
