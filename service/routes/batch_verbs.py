"""Routes of lifecycle verbs for many streams at once."""

from functools import partial

from fastapi import APIRouter

from braid.registry.registrar import Registrar
from braid.registry.store.progress import current_report, stream_key
from braid.registry.stream_entries import Verb
from braid.schemas import StreamState
from braid.schemas.access import AccessScope
from braid.schemas.batch_verb import BatchVerbAnswer, BatchVerbRequest
from braid.service.checked_body import CheckedBody
from braid.service.components import Components
from braid.service.control.batch_verbs import apply_to_all, select_streams
from braid.service.control.stream_status import reported_state
from braid.service.dependencies import ComponentsOf, May, MayOf, RegistrarOf
from braid.service.problems.operation_problems import operation_problem

router = APIRouter(prefix="/v1", tags=["streams"], route_class=CheckedBody)


@router.post("/streams:start")
def start_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Start many streams; the outcome of each is in the answer."""
    return _apply(Verb.START, components, registrar, may, body)


@router.post("/streams:pause")
def pause_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Pause many streams; the outcome of each is in the answer."""
    return _apply(Verb.PAUSE, components, registrar, may, body)


@router.post("/streams:resume")
def resume_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Resume many streams; the outcome of each is in the answer."""
    return _apply(Verb.RESUME, components, registrar, may, body)


@router.post("/streams:restart")
def restart_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Restart the queries of many streams; those that are not to run are refused, each by itself."""
    return _apply(Verb.RESTART, components, registrar, may, body)


@router.post("/streams:stop")
def stop_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Stop many streams; the outcome of each is in the answer."""
    return _apply(Verb.STOP, components, registrar, may, body)


def _apply(
    verb: Verb, components: Components, registrar: Registrar, may: May, body: BatchVerbRequest
) -> BatchVerbAnswer:
    may_change = partial(may, AccessScope.OPERATE)
    tables = components.registry.identifiers()
    selection = select_streams(body, registrar, tables, may_change=may_change)
    reports = components.progress.read_all()
    alive_since_ms = components.clock.now_ms() - components.settings.runner_timeout_ms

    def reported(table: str, stream: str) -> StreamState | None:
        key = stream_key(table, stream)
        report = current_report(reports.runners, key, alive_since_ms=alive_since_ms)
        return reported_state(report, alive_since_ms=alive_since_ms)

    answer = apply_to_all(
        verb,
        selection,
        registrar,
        reported=reported,
        may_change=may_change,
        describe=operation_problem,
    )
    return components.shown(answer)
