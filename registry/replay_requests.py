"""Requests to replay dead letters, in the entries of streams: checked, made, ended and withdrawn. Pure.

A table whose dead letters are replayed gets a feature (`with_replays`), so that only versions of Braid that
have this feature act on it.
"""

from braid.registry.errors import DefinitionRefused, RegistryConflict
from braid.registry.rules.replay_rules import check_replay
from braid.registry.store.stored_documents import DEAD_LETTER_REPLAYS
from braid.registry.stream_entries import entry_of, with_entry
from braid.schemas import (
    LetterSelection,
    ReplayResult,
    RequestedReplay,
    StreamEntry,
    TableDocument,
)


def checked_replay(document: TableDocument, stream: str, selection: LetterSelection) -> StreamEntry:
    """Return a stream whose dead letters can be replayed.

    Raises:
        StreamNotFound: The table has no such stream.
        DefinitionRefused: The table cannot have a right result of the replay; or a reason is unknown.
    """
    entry = entry_of(document, stream)
    problems = tuple(check_replay(document.table, entry.spec, selection))
    if problems:
        message = f"dead letters of the stream {stream} of {document.identifier} cannot be replayed"
        raise DefinitionRefused(message, problems=problems)
    return entry


def with_request(
    document: TableDocument,
    stream: str,
    selection: LetterSelection,
    *,
    request_id: str,
    now_ms: int,
) -> TableDocument:
    """Return the document with a replay that the stream's runner carries out.

    A request that equals the one under way changes nothing.

    Raises:
        StreamNotFound: The table has no such stream.
        DefinitionRefused: The table cannot have a right result of the replay; or a reason is unknown.
        RegistryConflict: Another replay of the stream is under way.
    """
    entry = checked_replay(document, stream, selection)
    known = entry.replay
    if known is not None and known.result is None:
        if known.selection == selection:
            return document
        message = (
            f"a replay of the stream {stream} is under way\n"
            "hint: wait for its result, or withdraw it: DELETE .../dead-letters/replay"
        )
        raise RegistryConflict(message)
    replay = RequestedReplay(id=request_id, selection=selection, requested_ms=now_ms)
    changed = with_entry(document, entry.model_copy(update={"replay": replay}))
    return with_replays(changed)


def with_replays(document: TableDocument) -> TableDocument:
    """Return the document with the feature that a version needs once dead letters are replayed.

    It is the table's, not the stream's: each commit carries the positions of all streams forward.
    """
    features = tuple(sorted({*document.features, DEAD_LETTER_REPLAYS}))
    return document.model_copy(update={"features": features})


def with_result(
    document: TableDocument, stream: str, *, request_id: str, result: ReplayResult
) -> TableDocument:
    """Return the document with the result of a replay; unchanged if the request was withdrawn.

    Two runners may carry out a request for a stream that neither runs, and each counts what it has replayed itself.
    """
    entry = document.streams.get(stream)
    if entry is None or entry.replay is None or entry.replay.id != request_id:
        return document
    if (known := entry.replay.result) is not None:
        counts = {
            "accepted": known.accepted + result.accepted,
            "folded": known.folded + result.folded,
            "ignored": known.ignored + result.ignored,
            "error": result.error and known.error,
        }
        result = result.model_copy(update=counts)
    replay = entry.replay.model_copy(update={"result": result})
    return with_entry(document, entry.model_copy(update={"replay": replay}))


def without_request(document: TableDocument, stream: str) -> TableDocument:
    """Return the document without the replay that is under way; what it has replayed already, stays replayed."""
    entry = entry_of(document, stream)
    if entry.replay is None or entry.replay.result is not None:
        return document
    return with_entry(document, entry.model_copy(update={"replay": None}))
