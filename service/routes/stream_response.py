"""Answer of the routes that return a registered stream: its view, with its revision as `etag`."""

from fastapi import Response

from braid.registry.store.revision import stream_revision
from braid.registry.stream_entries import entry_of
from braid.schemas import TableDocument
from braid.schemas.api import StreamView
from braid.service.dependencies import set_etag


def stream_response(document: TableDocument, stream: str, response: Response) -> StreamView:
    """Return the view of a stream, and set its revision as a header of the response.

    Raises:
        StreamNotFound: The table has no such stream.
    """
    set_etag(response, stream_revision(entry_of(document, stream)))
    return stream_view(document, stream)


def stream_view(document: TableDocument, stream: str) -> StreamView:
    """Return the view of a stream."""
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
