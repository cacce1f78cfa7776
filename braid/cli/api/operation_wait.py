"""The wait for the end of an operation, with a progress bar on a terminal."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from braid.cli.api.operations import count_text, operation_text
from braid.cli.api.waiting import poll
from braid.cli.exits import EXIT_FAILED, EXIT_TRY_AGAIN
from braid.cli.output import print_table, terminal
from braid.schemas import OperationState, OperationView

if TYPE_CHECKING:
    from braid.client import Client


def ended_operation(
    client: "Client", operation: str, *, seconds_max: float, console: Console | None
) -> OperationView:
    """Return an operation once it has ended, or once the time is over.

    Args:
        client: The service.
        operation: The operation's id.
        seconds_max: The longest wait; 0: none.
        console: The terminal that shows a progress bar meanwhile; None: none does.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    with _progress_bar(console) as show:

        def read() -> OperationView:
            view = client.get_operation(operation)
            show(view)
            return view

        return poll(read, lambda view: view.state.is_final, seconds_max=seconds_max)


def follow(client: "Client", begun: Iterable[OperationView], *, wait_seconds: float) -> int:
    """Print operations that were requested, each once it has ended or the wait is over; return the exit status.

    Args:
        client: The service.
        begun: The operations.
        wait_seconds: The longest wait for each; 0: none.

    Returns:
        0 without a wait; else the first status of `exit_of_operation` that is not 0.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    statuses = []
    for one in begun:
        if not wait_seconds:
            print_table(operation_text(one))
            continue
        ended = ended_operation(client, one.id, seconds_max=wait_seconds, console=terminal())
        print_table(operation_text(ended))
        statuses.append(exit_of_operation(ended))
    return next((status for status in statuses if status), 0)


def exit_of_operation(view: OperationView) -> int:
    """Return the exit status of a wait: 0; 1: the operation has failed or is canceled; 75: it has not ended."""
    if not view.state.is_final:
        return EXIT_TRY_AGAIN
    return 0 if view.state is OperationState.SUCCEEDED else EXIT_FAILED


@contextmanager
def _progress_bar(console: Console | None) -> Iterator[Callable[[OperationView], None]]:
    """Yield what shows how far an operation is."""
    if console is None:
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=None, count="")

        def show(view: OperationView) -> None:
            known = view.progress
            progress.update(
                task,
                description=f"{view.kind} of {view.database}.{view.table}: {view.state.value}",
                total=None if known is None else known.total,
                completed=0 if known is None else known.done,
                count="" if known is None else count_text(known),
            )

        yield show
