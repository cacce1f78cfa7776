"""Routes of dry runs about one stream: of lifecycle verbs, of its deletion, and of replays of its dead letters.

They are after the routes of offsets, which one of their addresses would fit, too.
"""

from fastapi import APIRouter

from braid.registry.stream_entries import Verb
from braid.schemas import LetterSelection
from braid.schemas.api import Validation
from braid.service.checked_body import CheckedBody
from braid.service.control.stream_status import state_in
from braid.service.dependencies import ComponentsOf, OnlyFailed
from braid.service.routes.planned_change import validation_of

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/streams/{stream}",
    tags=["streams"],
    route_class=CheckedBody,
)


@router.post("/validate-delete")
def validate_deletion(
    components: ComponentsOf, database: str, table: str, stream: str
) -> Validation:
    """Return what `DELETE` would do, or why it would refuse; changes nothing."""
    planned = components.registrar.plan_deletion(f"{database}.{table}", stream)
    return components.shown(validation_of(planned))


@router.post("/dead-letters/replay/validate")
def validate_replay(
    components: ComponentsOf, database: str, table: str, stream: str, body: LetterSelection
) -> Validation:
    """Return what the replay would do, or why it would be refused; changes nothing."""
    return validation_of(components.registrar.plan_replay(f"{database}.{table}", stream, body))


@router.post("/{verb}/validate")
def validate_verb(
    components: ComponentsOf,
    database: str,
    table: str,
    stream: str,
    verb: Verb,
    only_failed: OnlyFailed = False,
) -> Validation:
    """Return what the verb would do now, or why it would refuse; changes nothing."""
    identifier = f"{database}.{table}"
    reported = state_in(
        components.progress.read_all(),
        identifier,
        stream,
        alive_since_ms=components.clock.now_ms() - components.settings.runner_timeout_ms,
    )
    planned = components.registrar.plan_verb(
        identifier, stream, verb, reported=reported, only_failed=only_failed
    )
    return validation_of(planned)
