"""Routes of streams: registration, deletion, dry run, lifecycle verbs and status.

Routes of a stream's offsets and dead letters are in `offsets` and `dead_letters`.
"""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Response

from braid.lake import StreamPosition
from braid.registry.errors import DefinitionDiffers, DefinitionRefused
from braid.registry.placement.admission import why_unassigned
from braid.registry.placement.needed_streams import needed_stream
from braid.registry.registrar import Registrar
from braid.registry.store.progress import Report, RunnerReports, current_report, stream_key
from braid.registry.stream_entries import Verb, entry_of
from braid.schemas import (
    BackfillStatus,
    DesiredState,
    StreamDefinition,
    StreamStatus,
    StreamTrial,
    TableDocument,
    VerbAnswer,
)
from braid.schemas.api import StreamList, StreamValidation, StreamView
from braid.service.checked_body import CheckedBody
from braid.service.components import Components
from braid.service.control.backfill_status import (
    REPORT_AGE_MS_MAX,
    backfill_status,
    backfills_of,
)
from braid.service.control.confirmation import not_confirmed
from braid.service.control.newest_commit import newest_commit_of
from braid.service.control.stream_status import state_in, stream_status
from braid.service.control.stream_trial import tried_stream
from braid.service.dependencies import (
    ComponentsOf,
    Confirm,
    OnlyFailed,
    PreconditionOf,
    RegistrarOf,
)
from braid.service.routes.stream_response import stream_response, stream_view

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/streams", tags=["streams"], route_class=CheckedBody
)

InitialState = Annotated[
    DesiredState,
    Query(description="The desired state of a stream that is new; a registered one keeps its own."),
]


@router.get("")
def list_streams(components: ComponentsOf, database: str, table: str) -> StreamList:
    """List the streams of a table, by name."""
    document = components.registrar.document(f"{database}.{table}")
    return StreamList(
        streams=tuple(stream_view(document, name) for name in sorted(document.streams))
    )


@router.put("/{stream}", responses={201: {"model": StreamView}})
def put_stream(
    registrar: RegistrarOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    stream: str,
    definition: StreamDefinition,
    response: Response,
    initial_state: InitialState = DesiredState.RUNNING,
) -> StreamView:
    """Register a stream, or change it: 201 if it is new, else 200. A new one starts at once, unless `initial_state` says otherwise."""
    registered = registrar.put_stream(
        f"{database}.{table}",
        stream,
        definition,
        initial_state=initial_state,
        precondition=precondition,
    )
    response.status_code = 201 if registered.is_new else 200
    return stream_response(registered.document, stream, response)


@router.get("/{stream}")
def get_stream(
    components: ComponentsOf, database: str, table: str, stream: str, response: Response
) -> StreamView:
    """Return a stream, with all defaults filled in."""
    return stream_response(components.registrar.document(f"{database}.{table}"), stream, response)


@router.delete("/{stream}", status_code=204)
def delete_stream(
    registrar: RegistrarOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    stream: str,
    confirm: Confirm = None,
) -> None:
    """Delete a stopped stream, whose name `confirm` may repeat, so that another one may own its group; its rows stay."""
    # Optional: rows and position stay, so that the stream can be registered again, and older clients do not send it.
    if confirm not in (None, stream):
        raise not_confirmed(stream, "the stream would be deleted")
    registrar.delete_stream(f"{database}.{table}", stream, precondition=precondition)


@router.post("/{stream}/validate")
def validate_stream(
    components: ComponentsOf,
    database: str,
    table: str,
    stream: str,
    trial: StreamTrial,
    initial_state: InitialState = DesiredState.RUNNING,
) -> StreamValidation:
    """Return what `PUT` would do, the problems for which it would refuse the body, and what would become of `samples`; changes nothing."""
    document, of_table = components.registered(f"{database}.{table}")
    try:
        planned = components.registrar.plan_stream(
            document, stream, trial.definition, initial_state=initial_state
        )
    except (DefinitionRefused, DefinitionDiffers) as error:
        return StreamValidation(valid=False, errors=tuple(error.problems))
    tried = tried_stream(document, of_table.schema, planned.spec, trial.samples)
    return tried.model_copy(update={"plan": planned.effects}) if tried.valid else tried


@router.get("/{stream}/status")
def get_stream_status(
    components: ComponentsOf, database: str, table: str, stream: str
) -> StreamStatus:
    """Return the desired state of a stream, and its state as its runner and the table report it."""
    return _status(components, components.registrar.document(f"{database}.{table}"), stream)


@router.post("/{stream}/start", status_code=202)
def start_stream(
    components: ComponentsOf, registrar: RegistrarOf, database: str, table: str, stream: str
) -> VerbAnswer:
    """Start the stream; one that failed or waits tries again at once. `message` states the effect."""
    return _apply_verb(components, registrar, f"{database}.{table}", stream, Verb.START)


@router.post("/{stream}/pause", status_code=202)
def pause_stream(
    components: ComponentsOf, registrar: RegistrarOf, database: str, table: str, stream: str
) -> VerbAnswer:
    """Pause the stream: it reads nothing, and its runner keeps it."""
    return _apply_verb(components, registrar, f"{database}.{table}", stream, Verb.PAUSE)


@router.post("/{stream}/resume", status_code=202)
def resume_stream(
    components: ComponentsOf, registrar: RegistrarOf, database: str, table: str, stream: str
) -> VerbAnswer:
    """Resume the stream where it was paused or stopped; one that failed tries again at once."""
    return _apply_verb(components, registrar, f"{database}.{table}", stream, Verb.RESUME)


@router.post("/{stream}/restart", status_code=202)
def restart_stream(
    components: ComponentsOf,
    registrar: RegistrarOf,
    database: str,
    table: str,
    stream: str,
    only_failed: OnlyFailed = False,
) -> VerbAnswer:
    """Restart the query of a stream; 409 unless its desired state is RUNNING."""
    return _apply_verb(
        components,
        registrar,
        f"{database}.{table}",
        stream,
        Verb.RESTART,
        only_failed=only_failed,
    )


@router.post("/{stream}/stop", status_code=202)
def stop_stream(
    components: ComponentsOf, registrar: RegistrarOf, database: str, table: str, stream: str
) -> VerbAnswer:
    """Stop the stream: its runner releases it. Its position stays in the table."""
    return _apply_verb(components, registrar, f"{database}.{table}", stream, Verb.STOP)


def _apply_verb(
    components: Components,
    registrar: Registrar,
    identifier: str,
    stream: str,
    verb: Verb,
    *,
    only_failed: bool = False,
) -> VerbAnswer:
    reported = state_in(
        components.progress.read_all(),
        identifier,
        stream,
        alive_since_ms=_alive_since_ms(components),
    )
    applied = registrar.apply_verb(
        identifier, stream, verb, reported=reported, only_failed=only_failed
    )
    status = _status(components, applied.document, stream)
    return VerbAnswer(
        **dict(status),
        verb=verb.value,
        message=f"{stream}: {applied.message}",
    )


def _status(components: Components, document: TableDocument, stream: str) -> StreamStatus:
    entry = entry_of(document, stream)
    table = components.tables.get(document.identifier)
    positions = table.committer().stream_positions()
    position = positions.get(stream)
    reports = components.reports.get()
    status = stream_status(
        document,
        entry,
        report=_report(components, reports, document.identifier, stream),
        position=position,
        now_ms=components.clock.now_ms(),
        alive_since_ms=_alive_since_ms(components),
        snapshot_id=None if position is None else newest_commit_of(table, position),
        backfills=_backfills(components, document.identifier, stream, positions),
        unreadable_reports=reports.unreadable,
        why_unassigned=lambda: why_unassigned(
            needed_stream(document, entry),
            components.assignments.read().value,
            alive={
                one.owner
                for one in reports.runners
                if one.owner is not None and one.is_alive(_alive_since_ms(components))
            },
        ),
    )
    return components.shown(status)


def _backfills(
    components: Components,
    identifier: str,
    stream: str,
    positions: Mapping[str, StreamPosition],
) -> tuple[BackfillStatus, ...]:
    begun = backfills_of(stream, positions)
    reports = components.backfills.read(identifier, stream, list(begun))
    alive_since_ms = components.clock.now_ms() - REPORT_AGE_MS_MAX
    return tuple(
        backfill_status(name, position, reports.get(name), alive_since_ms=alive_since_ms)
        for name, position in begun.items()
    )


def _report(
    components: Components, reports: RunnerReports, identifier: str, stream: str
) -> Report | None:
    return current_report(
        reports.runners,
        stream_key(identifier, stream),
        alive_since_ms=_alive_since_ms(components),
    )


def _alive_since_ms(components: Components) -> int:
    return components.clock.now_ms() - components.settings.runner_timeout_ms
