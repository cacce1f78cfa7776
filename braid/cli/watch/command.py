"""Implementation of `braid watch`: rounds of readings, as a live table on a terminal, otherwise as records."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.live import Live

from braid.cli.api.connection import Connection
from braid.cli.api.tables import table_names
from braid.cli.exits import EXIT_FAILED
from braid.cli.output import OutputFormat, print_record, print_table
from braid.cli.watch.readings import Reading, read_streams, with_rates
from braid.cli.watch.view import readings_text
from braid.lake import SystemClock
from braid.schemas import StreamState
from braid.service.times import iso_utc

if TYPE_CHECKING:
    from braid.client import Client

_MARGIN: Final = (
    4  # lines of a terminal around the rows: head, prompt, and a line that says how many more
)


def watch(
    connection: Connection,
    tables: Sequence[str],
    *,
    every_seconds: float,
    is_once: bool,
    output: OutputFormat,
) -> int:
    """Show the streams of tables in rounds, until Ctrl-C.

    On a terminal the table is replaced in each round. Otherwise, and as JSON or YAML, each round prints a record for each stream.

    Args:
        connection: The service.
        tables: The tables; empty: in each round all tables that there are.
        every_seconds: The pause between two rounds.
        is_once: Whether there is one round only.
        output: The form of the output.

    Returns:
        The exit status: 0; after a single round 1 if a stream has failed.
    """
    with connection.client() as client:
        rounds = _rounds(client, tables, every_seconds)
        if is_once:
            readings = next(rounds)
            _print(readings, output)
            return EXIT_FAILED if any(one.state is StreamState.FAILED for one in readings) else 0
        is_live = output is OutputFormat.TABLE and sys.stdout.isatty()
        with suppress(KeyboardInterrupt):  # the way in which it ends
            _show(rounds, OutputFormat.JSON if output is OutputFormat.TABLE else output, is_live)
    return 0


def _show(rounds: Iterator[list[Reading]], output: OutputFormat, is_live: bool) -> None:
    with ExitStack() as stack:
        live: Live | None = None
        if is_live:
            live = stack.enter_context(Live(console=Console(), auto_refresh=False))
        for readings in rounds:
            if live is None:
                _print(readings, output)
                sys.stdout.flush()
            else:
                room = max(1, live.console.height - _MARGIN)
                live.update(readings_text(readings, lines_max=room).rendered(), refresh=True)


def _rounds(
    client: "Client", tables: Sequence[str], every_seconds: float
) -> Iterator[list[Reading]]:
    """Yield the readings of each round, with rates from the second one on.

    Once a round was read, a service that does not answer is waited for: it may be restarted.
    """
    from braid.client import NoAnswer, Unavailable

    before: list[Reading] = []
    read_s: float | None = None
    while True:
        try:
            names = tables or table_names(client)
            found = read_streams(client, names)
        except (NoAnswer, Unavailable) as error:
            if read_s is None:
                raise
            typer.echo(f"warning: {error}", err=True)
        else:
            now_s = time.monotonic()
            seconds = 0.0 if read_s is None else now_s - read_s
            before = with_rates(found, {one.key: one for one in before}, seconds)
            read_s = now_s
            yield before
        time.sleep(every_seconds)


def _print(readings: Sequence[Reading], output: OutputFormat) -> None:
    if output is OutputFormat.TABLE:
        print_table(readings_text(readings))
        return
    now = iso_utc(SystemClock().now_ms())
    for one in readings:
        print_record(one.document(now), output)
