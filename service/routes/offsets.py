"""Routes of a stream's offsets: its position in its topic, shown and set, and a dry run."""

from fastapi import APIRouter, Response

from braid.lake import StreamPosition
from braid.registry.position_setter import PositionSetter, position_revision
from braid.registry.store.progress import stream_key
from braid.registry.stream_entries import entry_of
from braid.schemas import (
    OffsetsChanged,
    OffsetsRequest,
    OffsetsValidation,
    StreamOffsets,
    TableDocument,
    TopicOffsets,
)
from braid.service.checked_body import CheckedBody
from braid.service.components import Components
from braid.service.control.stream_offsets import measured_offsets, stream_offsets
from braid.service.dependencies import ActorOf, ComponentsOf, PreconditionOf, set_etag

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/streams/{stream}/offsets",
    tags=["streams"],
    route_class=CheckedBody,
)


@router.get("")
def get_offsets(
    components: ComponentsOf, database: str, table: str, stream: str, response: Response
) -> StreamOffsets:
    """Return where a stream continues, by partition, and what it has skipped or read again by request."""
    document = components.registrar.document(f"{database}.{table}")
    return _offsets(components, document, stream, response)


@router.put("")
def put_offsets(
    components: ComponentsOf,
    actor: ActorOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    stream: str,
    body: OffsetsRequest,
    response: Response,
) -> OffsetsChanged:
    """Set where a stopped stream continues; the other partitions stay. 409 unless it is stopped and released."""
    document = components.registrar.document(f"{database}.{table}")
    setter = PositionSetter(components.registry, components.tables.get, actor=actor)
    partitions = setter.set_position(
        document,
        stream,
        body,
        measured=_measured(components, document, stream),
        precondition=precondition,
    )
    after = _offsets(components, document, stream, response)
    return OffsetsChanged(**dict(after), partitions=partitions)


@router.post("/validate")
def validate_offsets(
    components: ComponentsOf, database: str, table: str, stream: str, body: OffsetsRequest
) -> OffsetsValidation:
    """Return what `PUT` would read again or skip, and the problems for which it would refuse; changes nothing."""
    document = components.registrar.document(f"{database}.{table}")
    plan = PositionSetter(components.registry, components.tables.get).plan(
        document, stream, body, measured=_measured(components, document, stream)
    )
    return OffsetsValidation(
        valid=not plan.problems, partitions=plan.partitions, errors=plan.problems
    )


def _offsets(
    components: Components, document: TableDocument, stream: str, response: Response
) -> StreamOffsets:
    position = _position(components, document, stream)
    revision = position_revision(position)
    if revision is not None:
        set_etag(response, revision)
    measured = _measured(components, document, stream)
    return stream_offsets(document, stream, position=position, measured=measured)


def _measured(components: Components, document: TableDocument, stream: str) -> TopicOffsets | None:
    return measured_offsets(
        components.progress.read_all().runners,
        stream_key(document.identifier, stream),
        _position(components, document, stream),
    )


def _position(
    components: Components, document: TableDocument, stream: str
) -> StreamPosition | None:
    entry_of(document, stream)  # a stream that is not registered has no offsets to show
    return components.tables.get(document.identifier).committer().stream_positions().get(stream)
