"""The answers of a service about runners, as text, and the wait for the end of a drain."""

from typing import TYPE_CHECKING

from braid.cli.api.waiting import poll
from braid.cli.exits import EXIT_NOT_FOUND, EXIT_TRY_AGAIN
from braid.cli.output import NOTHING, TextTable, facts
from braid.schemas.resource_lists import RunnerDrain, RunnerList, RunnerView

if TYPE_CHECKING:
    from braid.client import Client


def runners_text(found: RunnerList) -> TextTable:
    """Return a line for each runner."""
    columns = ("runner", "state", "streams", "labels", "reported at")
    rows = [
        (
            one.name,
            _state(one),
            str(
                sum(
                    state not in ("UNASSIGNED", "STOPPED", "COMPLETED")
                    for state in one.streams.values()
                )
            )
            + ("" if one.streams_max is None else f" of {one.streams_max}"),
            ", ".join(f"{name}={value}" for name, value in sorted(one.labels.items())) or NOTHING,
            one.reported_at,
        )
        for one in found.runners
    ]
    return TextTable(columns=columns, rows=rows)


def drain_text(drain: RunnerDrain) -> TextTable:
    """Return how far a drain is."""
    return facts(
        [
            ("runner", drain.runner),
            ("drained", "yes" if drain.drained else "no"),
            ("running", "yes" if drain.joined else "no"),
            ("streams", ", ".join(drain.streams) or NOTHING),
        ]
    )


def drain_note(drain: RunnerDrain, found: RunnerList) -> str | None:
    """Return what may surprise about a drain that was requested: a name that nobody has, streams that cannot move; None: nothing.

    Args:
        drain: The drain.
        found: All runners.
    """
    if not drain.joined:
        if not _is_unknown(drain, found):
            return f"{drain.runner} is not running: it gets no stream when it starts again"
        names = ", ".join(sorted(one.name for one in found.runners if one.alive)) or "none"
        return (
            f"no runner has ever reported as {drain.runner}; running: {names}. The drain holds for a runner that "
            "starts with this name; --undo ends it"
        )
    is_alone = not any(
        one.alive and not one.drained and not one.ending and one.name != drain.runner
        for one in found.runners
    )
    if drain.streams and is_alone:
        return "no other runner is there to take its streams, which stay until one is"
    return None


def ended_drain(client: "Client", runner: str, *, seconds_max: float) -> RunnerDrain:
    """Return the drain of a runner once the runner has no stream, or once the time is over.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    return poll(
        lambda: client.get_drain(runner), lambda drain: not drain.streams, seconds_max=seconds_max
    )


def undo_note(before: RunnerDrain) -> str | None:
    """Return what may surprise about the end of a drain, by its state before: there was none; None: nothing."""
    return None if before.drained else f"{before.runner} was not drained"


def exit_of_drain(drain: RunnerDrain, found: RunnerList) -> int:
    """Return the exit status of a wait for a drain.

    Args:
        drain: The drain at the end of the wait.
        found: All runners.
    """
    if _is_unknown(drain, found):
        return EXIT_NOT_FOUND
    return EXIT_TRY_AGAIN if drain.streams else 0


def _is_unknown(drain: RunnerDrain, found: RunnerList) -> bool:
    """Return whether no runner has ever had the name."""
    return not drain.joined and drain.runner not in {one.name for one in found.runners}


def _state(runner: RunnerView) -> str:
    if not runner.alive:
        return "gone, drained" if runner.drained else "gone"
    if runner.drained:
        return "drained"
    return "ending" if runner.ending else "alive"
