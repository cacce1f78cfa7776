"""Dead letters of a stream over HTTP: pages that its runner reads, and replays that it carries out."""

import time
from typing import TYPE_CHECKING, Any, Final

import typer

from braid.cli.arguments import refuse
from braid.cli.exits import EXIT_FAILED, EXIT_TRY_AGAIN
from braid.cli.letter_arguments import letter_line
from braid.cli.output import OutputFormat, facts, print_document, print_record
from braid.schemas import DeadLetters, LetterSelection, RequestedReplay

if TYPE_CHECKING:
    from braid.client import Stream

_PAGE: Final = 100
_EVERY_SECONDS: Final = 1.0


def show(stream: "Stream", chosen: LetterSelection, *, limit: int, output: OutputFormat) -> int:
    """Print dead letters of a stream, the oldest first, and their numbers; return the exit status.

    Raises:
        BraidError: The service refuses, does not answer, or no runner reads the letters.
    """
    query = _query(chosen)
    token: str | None = None
    left = limit
    while True:
        page = stream.dead_letters(**query, limit=min(left, _PAGE), page_token=token)
        for letter in page.letters:
            print_record(letter, output, letter_line(letter))
        left -= len(page.letters)
        token = page.next_page_token
        if token is None or left <= 0:
            break
    typer.echo(_counts(page), err=True)
    return 0


def replay(
    stream: "Stream", chosen: LetterSelection, *, wait_seconds: float, output: OutputFormat
) -> int:
    """Request a replay of dead letters, and print it once it has ended, or the time to wait is over.

    Returns:
        The exit status: 0; 1 if records were refused again, or cannot be replayed; 75 if it has not ended in time.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    requested = stream.replay_dead_letters(chosen)
    end_s = time.monotonic() + wait_seconds
    while requested.result is None and (left_s := end_s - time.monotonic()) > 0:
        time.sleep(min(_EVERY_SECONDS, left_s))
        newest = stream.dead_letters(limit=0).replay
        if newest is None or newest.id != requested.id:
            break  # withdrawn, or followed by another one
        requested = newest
    result = requested.result
    print_document(requested, output, facts(_facts(requested)))
    if result is None:
        return EXIT_TRY_AGAIN if wait_seconds else 0
    return EXIT_FAILED if result.failed_again or result.left or result.error else 0


def _facts(replay: RequestedReplay) -> list[tuple[str, object]]:
    result = replay.result
    if result is None:
        return [("replay", replay.id), ("state", "requested; the stream's runner carries it out")]
    return [
        ("replay", replay.id),
        ("state", "ended" if result.error is None else f"ended early: {result.error}"),
        ("accepted", result.accepted),
        ("folded", result.folded),
        ("ignored", result.ignored),
        ("refused again", dict(result.failed_again) or None),
        ("left", dict(result.left) or None),
    ]


def _query(chosen: LetterSelection) -> dict[str, Any]:
    """Return the parameters of the pages; the service takes one range of offsets."""
    query: dict[str, Any] = {"reason": list(chosen.reasons) or None}
    if len(chosen.offsets) > 1:
        refuse("--offsets", " ".join(chosen.offsets), "expected one range, without --warehouse")
    for partition, span in chosen.offsets.items():
        query |= {
            "partition": int(partition),
            "offset_start": span.start,
            "offset_end": span.end,
        }
    return query


def _counts(page: DeadLetters) -> str:
    counts = page.counts
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.by_reason.items())
    return f"{counts.total} dead letters ({reasons or 'none'}), {counts.replayed} replayed"
