"""Route of pushes: records that clients without a Kafka client send to the topic of a stream."""

import hashlib
from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool

from braid.lake import InvalidRequest, Problem, TableNotFound
from braid.records.outgoing_records import IdempotencyKey
from braid.registry.errors import StreamNotFound
from braid.schemas.access import AccessScope
from braid.schemas.pushed_records import (
    RECORDS_MAX,
    PushAnswer,
    PushedRecord,
    PushOutcome,
    PushResult,
)
from braid.service.components import Components
from braid.service.control.push import (
    NEITHER,
    PushTarget,
    SenderUnknown,
    push_once,
    push_records,
    push_target,
)
from braid.service.dependencies import ComponentsOf
from braid.service.principal import principal_of
from braid.service.routes.push_bodies import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    JSON,
    JSON_LINES,
    PushBody,
    parse_message,
    parse_records,
)
from braid.service.scope_headers import header_of

# Not `CheckedBody`: the body's model depends on its media type.
router = APIRouter(prefix="/v1/tables/{database}/{table}/streams", tags=["streams"])

_KEY_MAX: Final = 255  # characters
_KEY: Final = (
    "Name of this request, unique among those to the stream: within a day the same request sends its records once and "
    "gets the same answer, and another body with this name is 409."
)
_BODY: Final = "`message`: the body is the value of one record as it is, such as the message of a webhook; its `content-type` is not read."
_EVENT: Final = {"type": "object", "required": ["id", "source", "specversion", "type"]}


def _body() -> dict[str, Any]:
    record = PushedRecord.model_json_schema()
    records = {"type": "array", "items": record, "maxItems": RECORDS_MAX}
    schemas = {
        JSON: {"anyOf": [record, records]},
        JSON_LINES: {"type": "string"},
        CLOUD_EVENT: _EVENT,
        CLOUD_EVENTS: {"type": "array", "items": _EVENT, "maxItems": RECORDS_MAX},
    }
    content = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/{stream}/records",
    openapi_extra=_body(),
    description=(
        "Send records to the topic of a stream. Each is read as the stream would read it: a record that would become a "
        "dead letter is refused with its reason, and the others are sent. The answer has the Kafka partition and offset of "
        f"each, and a token for the parameter `read_after` of rows. At most {RECORDS_MAX} records."
    ),
)
async def push(
    components: ComponentsOf,
    database: str,
    table: str,
    stream: str,
    request: Request,
    body: Annotated[PushBody, Query(description=_BODY)] = PushBody.RECORDS,
    idempotency_key: Annotated[
        str | None, Header(description=_KEY, min_length=1, max_length=_KEY_MAX)
    ] = None,
) -> PushAnswer:
    """Send records to the topic of a stream."""
    media_type = (header_of(request.scope, b"content-type") or "").partition(";")[0].strip().lower()
    content = await request.body()
    identifier = f"{database}.{table}"
    target = await run_in_threadpool(
        _signed_target,
        components,
        identifier,
        stream,
        request.headers.get,
        content,
        is_sender_known=principal_of(request).may(AccessScope.WRITE, identifier),
    )
    if body is PushBody.MESSAGE:
        records = parse_message(content)
    else:
        records = await components.bodies.run(parse_records, content, media_type)
    key = None
    if idempotency_key is not None:
        digest = hashlib.sha256(f"{body} {media_type}\n".encode() + content).digest()
        name = f"{identifier}/{stream}/{idempotency_key}"
        key = IdempotencyKey(name=name, digest=digest)
    answer = await run_in_threadpool(_push, components, target, records, key)
    if body is PushBody.MESSAGE and answer.records[0].outcome is PushOutcome.REFUSED:
        raise _refusal(answer.records[0])
    return answer


def _refusal(record: PushResult) -> InvalidRequest:
    """Return the error for the one record of a request: its sender looks at the status alone."""
    problem = Problem(field="", value=None, message=f"{record.reason}: {record.message}")
    return InvalidRequest("the record is refused, and was not sent", problems=[problem])


def _signed_target(
    components: Components,
    identifier: str,
    stream: str,
    header: Callable[[str], str | None],
    content: bytes,
    *,
    is_sender_known: bool,
) -> PushTarget:
    try:
        document, table = components.registered(identifier)
        target = push_target(document, table.schema, stream, components.settings.clusters)
    except (TableNotFound, StreamNotFound, InvalidRequest) as error:
        if is_sender_known:
            raise
        raise SenderUnknown(NEITHER) from error
    target.check_signature(header, content, is_sender_known=is_sender_known)
    return target


def _push(
    components: Components,
    target: PushTarget,
    records: tuple[PushedRecord, ...],
    key: IdempotencyKey | None,
) -> PushAnswer:
    if components.producer is None:
        message = "this service has no Kafka client"
        raise InvalidRequest(message)
    if key is None:
        return push_records(target, records, components.producer)
    return push_once(target, records, components.producer, key=key)
