"""Routes of a stream's dead letters: their numbers, pages of them, and replays."""

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Query, Response

from braid.registry.store.letter_questions import LetterQuestions
from braid.registry.store.revision import revision_of
from braid.registry.stream_entries import entry_of
from braid.schemas import DeadLetters, LetterSelection, RequestedReplay
from braid.schemas.offsets import OFFSET_MAX, PARTITIONS_MAX
from braid.service.checked_body import CheckedBody
from braid.service.control.dead_letters import LetterReader, letter_counts, letter_selection
from braid.service.dependencies import ComponentsOf, PreconditionOf, RegistrarOf, set_etag

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/streams/{stream}/dead-letters",
    tags=["streams"],
    route_class=CheckedBody,
)

_LETTERS_MAX = 1_000
_DEFAULT = 100


@router.get("")
def list_dead_letters(
    components: ComponentsOf,
    database: str,
    table: str,
    stream: str,
    reason: Annotated[list[str] | None, Query(max_length=100)] = None,
    partition: Annotated[int | None, Query(ge=0, le=PARTITIONS_MAX)] = None,
    offset_start: Annotated[int | None, Query(ge=0, le=OFFSET_MAX)] = None,
    offset_end: Annotated[int | None, Query(ge=0, le=OFFSET_MAX)] = None,
    limit: Annotated[int, Query(ge=0, le=_LETTERS_MAX)] = _DEFAULT,
    page_token: Annotated[str | None, Query(max_length=1_000_000)] = None,
) -> DeadLetters:
    """Return the numbers of a stream's dead letters, and a page of them that a runner reads; `limit=0`: numbers alone."""
    identifier = f"{database}.{table}"
    document = components.registrar.document(identifier)
    entry = entry_of(document, stream)
    position = components.tables.get(identifier).committer().stream_positions().get(stream)
    found = DeadLetters(
        database=database,
        table=table,
        stream=stream,
        dead_letter_topic=entry.spec.dead_letter_topic,
        counts=letter_counts(position),
        replay=entry.replay,
    )
    selection = letter_selection(reason, partition, offset_start, offset_end)
    # Nobody is asked for letters of a stream that has not been started: there are none.
    if limit == 0 or position is None or not position.topic:
        return found
    reader = LetterReader(
        LetterQuestions(components.file_io, components.settings.warehouse),
        components.clock,
        wait_seconds=components.settings.limits.letter_wait_seconds,
    )
    page, token = reader.page(identifier, stream, selection, limit=limit, page_token=page_token)
    return found.model_copy(update={"letters": page.letters, "next_page_token": token})


@router.post("/replay", status_code=202)
def replay_dead_letters(
    registrar: RegistrarOf,
    database: str,
    table: str,
    stream: str,
    body: LetterSelection,
    response: Response,
) -> RequestedReplay:
    """Have the runner of the stream write the records of dead letters, each once; `GET` has the result."""
    replay = registrar.request_replay(f"{database}.{table}", stream, body, request_id=uuid4().hex)
    set_etag(response, revision_of(replay))
    return replay


@router.delete("/replay", status_code=204)
def withdraw_replay(
    registrar: RegistrarOf, precondition: PreconditionOf, database: str, table: str, stream: str
) -> None:
    """Withdraw the replay that is under way; what was replayed stays so."""
    registrar.withdraw_replay(f"{database}.{table}", stream, precondition=precondition)
