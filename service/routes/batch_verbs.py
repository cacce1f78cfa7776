"""Routes of lifecycle verbs for many streams at once, and their dry run."""

from collections.abc import Callable
from functools import partial

from fastapi import APIRouter

from braid.registry.stream_entries import Verb
from braid.schemas.access import AccessScope
from braid.schemas.batch_verb import BatchVerbAnswer, BatchVerbRequest
from braid.service.checked_body import CheckedBody
from braid.service.components import Components
from braid.service.control.batch_verbs import ChangeStreams, apply_to_all, select_streams
from braid.service.control.stream_status import state_in
from braid.service.dependencies import ComponentsOf, May, MayOf, OnlyFailed, RegistrarOf
from braid.service.problems.operation_problems import operation_problem

router = APIRouter(prefix="/v1", tags=["streams"], route_class=CheckedBody)


@router.post("/streams:start")
def start_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Start many streams; the outcome of each is in the answer."""
    return _change(Verb.START, components, registrar.apply_verbs, may, body)


@router.post("/streams:pause")
def pause_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Pause many streams; the outcome of each is in the answer."""
    return _change(Verb.PAUSE, components, registrar.apply_verbs, may, body)


@router.post("/streams:resume")
def resume_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Resume many streams; the outcome of each is in the answer."""
    return _change(Verb.RESUME, components, registrar.apply_verbs, may, body)


@router.post("/streams:restart")
def restart_streams(
    components: ComponentsOf,
    registrar: RegistrarOf,
    may: MayOf,
    body: BatchVerbRequest,
    only_failed: OnlyFailed = False,
) -> BatchVerbAnswer:
    """Restart the queries of many streams; those that are not to run are refused, each by itself."""
    change = partial(registrar.apply_verbs, only_failed=only_failed)
    return _change(Verb.RESTART, components, change, may, body)


@router.post("/streams:stop")
def stop_streams(
    components: ComponentsOf, registrar: RegistrarOf, may: MayOf, body: BatchVerbRequest
) -> BatchVerbAnswer:
    """Stop many streams; the outcome of each is in the answer."""
    return _change(Verb.STOP, components, registrar.apply_verbs, may, body)


@router.post("/streams:{verb}/validate")
def validate_verb_of_streams(
    components: ComponentsOf,
    may: MayOf,
    verb: Verb,
    body: BatchVerbRequest,
    only_failed: OnlyFailed = False,
) -> BatchVerbAnswer:
    """Return what the verb would answer: what it would do to each stream, and why it would fail; changes nothing."""
    plan = partial(components.registrar.plan_verbs, only_failed=only_failed)
    return _apply(verb, components, plan, partial(may, AccessScope.READ), body)


def _change(
    verb: Verb, components: Components, change: ChangeStreams, may: May, body: BatchVerbRequest
) -> BatchVerbAnswer:
    return _apply(verb, components, change, partial(may, AccessScope.OPERATE), body)


def _apply(
    verb: Verb,
    components: Components,
    change: ChangeStreams,
    is_allowed: Callable[[str], bool],
    body: BatchVerbRequest,
) -> BatchVerbAnswer:
    tables = components.registry.identifiers()
    answer = apply_to_all(
        verb,
        select_streams(body, components.registrar, tables, may_change=is_allowed),
        change,
        reported=partial(
            state_in,
            components.progress.read_all(),
            alive_since_ms=components.clock.now_ms() - components.settings.runner_timeout_ms,
        ),
        may_change=is_allowed,
        describe=operation_problem,
    )
    return components.shown(answer)
