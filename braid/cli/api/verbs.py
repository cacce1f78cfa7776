"""Lifecycle verbs of a stream over HTTP, and the wait until its runner has followed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import typer

from braid.cli.api.streams import status_text
from braid.cli.api.waiting import wait_for_state
from braid.cli.exits import EXIT_FAILED
from braid.cli.output import OutputFormat, print_document
from braid.schemas import StreamState

if TYPE_CHECKING:
    from braid.client import Stream

_RUNS: Final = frozenset({StreamState.RUNNING, StreamState.COMPLETED, StreamState.EXTERNAL})
_STATES: Final[Mapping[str, frozenset[StreamState]]] = {
    "start": _RUNS,
    "resume": _RUNS,
    "restart": _RUNS,
    "pause": frozenset({StreamState.PAUSED}),
    "stop": frozenset({StreamState.STOPPED}),
}
"""The states in which a verb has had its effect."""


def apply_verb(stream: "Stream", verb: str, *, wait_seconds: float, output: OutputFormat) -> int:
    """Change the desired state of a stream, and print what was done.

    Args:
        stream: The stream, of a client.
        verb: `start`, `pause`, `resume`, `restart` or `stop`.
        wait_seconds: The longest wait for the state; 0: do not wait.
        output: The form of the output.

    Returns:
        The exit status: 0; 1 if the stream does not have the state after the wait.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    answer = getattr(stream, verb)()
    if output is OutputFormat.TABLE:
        typer.echo(answer.message)
    if not wait_seconds:
        if output is not OutputFormat.TABLE:
            print_document(answer, output, status_text(answer))
        return 0
    # A stream that has failed before may still say so for a moment.
    status = wait_for_state(stream, _STATES[verb], seconds_max=wait_seconds)
    if output is OutputFormat.TABLE:
        typer.echo(f"{status.stream}: {status.state.value}")
    else:
        print_document(status, output, status_text(status))
    return 0 if status.state in _STATES[verb] else EXIT_FAILED
