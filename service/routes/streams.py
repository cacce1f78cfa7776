"""Streams: register, read, list, try, start and stop, watch."""

from fastapi import APIRouter, Response

from registry.store.progress import Report, RunnerReports, current_report, stream_key
from registry.store.revision import revision_of
from registry.stream_entries import Verb, entry_of
from schemas import StreamDefinition, StreamStatus, TableDocument, VerbAnswer
from service.components import Components
from service.control.newest_commit import newest_commit_of
from service.control.stream_status import reported_state, stream_status
from service.dependencies import ComponentsOf, PreconditionOf
from service.http.checked_body import CheckedBody
from service.views import StreamList, StreamView, Validation

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/streams", tags=["streams"], route_class=CheckedBody
)


@router.get("")
def list_streams(components: ComponentsOf, database: str, table: str) -> StreamList:
    """List the streams of a table, by name."""
    document = components.registrar.document(f"{database}.{table}")
    return StreamList(streams=tuple(_view(document, name) for name in sorted(document.streams)))


@router.put("/{stream}", responses={201: {"model": StreamView}})
def put_stream(
    components: ComponentsOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    stream: str,
    definition: StreamDefinition,
    response: Response,
) -> StreamView:
    """Register a stream, or change it: 201 when it is new, else 200. It shall run at once."""
    registered = components.registrar.put_stream(
        f"{database}.{table}", stream, definition, precondition=precondition
    )
    response.status_code = 201 if registered.is_new else 200
    return _answer(registered.document, stream, response)


@router.get("/{stream}")
def get_stream(
    components: ComponentsOf, database: str, table: str, stream: str, response: Response
) -> StreamView:
    """Return a stream, with everything filled in that its owner left out."""
    return _answer(components.registrar.document(f"{database}.{table}"), stream, response)


@router.delete("/{stream}", status_code=204)
def delete_stream(
    components: ComponentsOf, precondition: PreconditionOf, database: str, table: str, stream: str
) -> None:
    """Forget a stopped stream, so that another may own its group; the table keeps its columns."""
    components.registrar.delete_stream(f"{database}.{table}", stream, precondition=precondition)


@router.post("/{stream}/validate")
def validate_stream(
    components: ComponentsOf, database: str, table: str, stream: str, definition: StreamDefinition
) -> Validation:
    """Say what `PUT` would refuse, without registering anything."""
    problems = components.registrar.check_stream(f"{database}.{table}", stream, definition)
    return Validation(valid=not problems, errors=tuple(problems))


@router.get("/{stream}/status")
def get_stream_status(
    components: ComponentsOf, database: str, table: str, stream: str
) -> StreamStatus:
    """Return what is wanted of a stream and what is seen of it."""
    return _status(components, components.registrar.document(f"{database}.{table}"), stream)


@router.post("/{stream}/start", status_code=202)
def start_stream(components: ComponentsOf, database: str, table: str, stream: str) -> VerbAnswer:
    """Want the stream to run; one that failed or waits tries again at once. `message` says what came of it."""
    return _ask(components, f"{database}.{table}", stream, Verb.START)


@router.post("/{stream}/pause", status_code=202)
def pause_stream(components: ComponentsOf, database: str, table: str, stream: str) -> VerbAnswer:
    """Want the stream to read nothing for a while; its runner keeps it."""
    return _ask(components, f"{database}.{table}", stream, Verb.PAUSE)


@router.post("/{stream}/resume", status_code=202)
def resume_stream(components: ComponentsOf, database: str, table: str, stream: str) -> VerbAnswer:
    """Want the stream to go on where it was paused or stopped; one that failed tries again at once."""
    return _ask(components, f"{database}.{table}", stream, Verb.RESUME)


@router.post("/{stream}/restart", status_code=202)
def restart_stream(components: ComponentsOf, database: str, table: str, stream: str) -> VerbAnswer:
    """Replace the query of a stream that is wanted to run by a new one; 409 when it is not."""
    return _ask(components, f"{database}.{table}", stream, Verb.RESTART)


@router.post("/{stream}/stop", status_code=202)
def stop_stream(components: ComponentsOf, database: str, table: str, stream: str) -> VerbAnswer:
    """Want the stream to end; its runner lets it go. Its position stays in the table."""
    return _ask(components, f"{database}.{table}", stream, Verb.STOP)


def _ask(components: Components, identifier: str, stream: str, verb: Verb) -> VerbAnswer:
    report = _report(components, components.progress.read_all(), identifier, stream)
    seen = reported_state(report, alive_since_ms=_alive_since_ms(components))
    answered = components.registrar.apply_verb(identifier, stream, verb, seen=seen)
    status = _status(components, answered.document, stream)
    return VerbAnswer(
        **dict(status),
        verb=verb.value,
        message=f"{stream}: {answered.message}",
    )


def _status(components: Components, document: TableDocument, stream: str) -> StreamStatus:
    entry = entry_of(document, stream)
    table = components.tables.get(document.identifier)
    position = table.committer().stream_positions().get(stream)
    reports = components.progress.read_all()
    return stream_status(
        document,
        entry,
        report=_report(components, reports, document.identifier, stream),
        position=position,
        now_ms=components.clock.now_ms(),
        alive_since_ms=_alive_since_ms(components),
        snapshot_id=None if position is None else newest_commit_of(table, position),
        unreadable_reports=reports.unreadable,
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


def _answer(document: TableDocument, stream: str, response: Response) -> StreamView:
    view = _view(document, stream)
    response.headers["etag"] = f'"{revision_of(entry_of(document, stream))}"'
    return view


def _view(document: TableDocument, stream: str) -> StreamView:
    entry = entry_of(document, stream)
    return StreamView(
        database=document.database,
        table=document.name,
        name=stream,
        desired_state=entry.desired_state,
        restart_generation=entry.restart_generation,
        version=entry.version,
        spec=entry.spec,
    )
