"""Demo program: three streams into one table, end to end, on real data (`make demo`, `braid demo`).

Three systems each know some columns of 336,776 flights. Each publishes the history of its columns as a Kafka
topic, shuffled and with some messages twice. Three Spark streaming queries write the columns into one table. At
the end the table has to equal the data set in all 19 columns, including nulls. The exit status is 1 if it does
not, if a process or a stream fails, or if the ingest takes more than an hour.
"""

import argparse
import json
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from braid.demo.flights_data import (
    PRIMARY_KEY,
    STREAMS,
    count_differences,
    load_flights,
    stream_history,
)
from braid.demo.flights_run import FlightsRun, Statuses, StreamFailed
from braid.demo.processes import ProcessFailed
from braid.demo.s3_fault_proxy import Faults
from braid.demo.s3_server import S3Server
from braid.pipelines.spark.environment_archive import make_environment_archive

INGEST_TIMEOUT_S = 3_600.0


def main(arguments: Sequence[str] | None = None, prog: str = "make demo ARGS=…") -> int:
    """Run the demo.

    Args:
        arguments: Of the command line; None: the process's own.
        prog: The command, for the usage.

    Returns:
        The process's exit code.
    """
    chosen = _parse_arguments(arguments, prog)
    console = Console()
    work_dir = Path(tempfile.mkdtemp(prefix="braid-flights-"))
    try:
        with ExitStack() as opened:
            store = None
            if chosen.s3 or chosen.faults:
                faults = Faults.of(chosen.faults)
                store = opened.enter_context(S3Server(work_dir / "s3", faults=faults))
            run = opened.enter_context(
                FlightsRun(
                    work_dir,
                    scale=chosen.scale,
                    trigger_ms=chosen.trigger_ms,
                    object_store=store,
                    runner_options=_runner_options(chosen, work_dir, console),
                )
            )
            is_equal = _run(run, console, runner_count=chosen.runners)
            if store is not None:
                _print_store(store, console)
            if chosen.keep:
                _keep(run, console)
            return 0 if is_equal else 1
    except (ProcessFailed, StreamFailed, TimeoutError) as error:
        console.print(f"error: {error}", highlight=False, markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("interrupted; every process is ended")
        return 130
    finally:
        shutil.rmtree(work_dir, ignore_errors=True)


def _parse_arguments(arguments: Sequence[str] | None, prog: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=prog, description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scale", type=_share, default=1.0, help="share of the data, in (0, 1]")
    parser.add_argument("--keep", action="store_true", help="leave all running until Ctrl-C")
    parser.add_argument(
        "--runners", type=int, choices=(1, 2, 3), default=1, help="processes that host the streams"
    )
    parser.add_argument(
        "--trigger-ms", type=int, default=2_000, help="time between two micro-batches of a stream"
    )
    parser.add_argument("--s3", action="store_true", help="a warehouse on an S3 server")
    parser.add_argument(
        "--faults",
        type=_share,
        default=0.0,
        help="with --s3: share of requests that are refused, lose their answer, break off or wait",
    )
    parser.add_argument(
        "--master", metavar="URL", help="with --s3: the Spark cluster whose executors do the work"
    )
    parser.add_argument(
        "--runner-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="an option of `braid runner`, such as --runner-option=--python=python3.12; may be repeated",
    )
    chosen = parser.parse_args(arguments)
    if chosen.master is not None and not (chosen.s3 or chosen.faults):
        parser.error("--master needs --s3: executors on other machines do not reach a local folder")
    return chosen


def _runner_options(
    chosen: argparse.Namespace, work_dir: Path, console: Console
) -> tuple[str, ...]:
    """Return what runners are started with; for a cluster it packs what executors need."""
    if chosen.master is None:
        return tuple(chosen.runner_option)
    console.print("… packages of the executors", highlight=False)
    archive = make_environment_archive(work_dir / "executors.tar.gz")
    options = (f"--master={chosen.master}", f"--archive={archive.path}")
    return (*options, *chosen.runner_option)


def _share(text: str) -> float:
    share = float(text)
    if not 0.0 < share <= 1.0:
        message = f"expected a share in (0, 1], found {text}"
        raise argparse.ArgumentTypeError(message)
    return share


def _run(run: FlightsRun, console: Console, *, runner_count: int) -> bool:
    """Run the stages, print the summary, and return whether every value is right."""
    seconds: dict[str, float] = {}
    with _stage("data set", seconds, console):
        flights = load_flights(run.scale)
        expected = {stream.name: stream_history(flights, stream).num_rows for stream in STREAMS}
    with _stage("kafka broker", seconds, console):
        run.start_broker()
    with _stage("service", seconds, console):
        run.start_service()
    with _stage("register a table and three streams", seconds, console):
        run.register()
    with _stage("produce, ingest, commit", seconds, console):
        for index in range(runner_count):
            hosted = STREAMS[index::runner_count] if runner_count > 1 else ()
            run.start_runner(f"runner-{index + 1}", streams=hosted)
        run.start_producers()
        statuses = _ingest(run, console, expected)
    with _stage("read and compare", seconds, console):
        equal_rows, wrong_values = count_differences(flights, run.read_flights())
    _print_summary(run, console, expected=expected, seconds=seconds, statuses=statuses)
    _print_row(run, console, {name: flights[name][0].as_py() for name in PRIMARY_KEY})
    console.print(f"wrong values: {wrong_values:,}")
    console.print(
        f"[bold]{equal_rows:,} of {flights.num_rows:,} rows equal[/bold]", highlight=False
    )
    return equal_rows == flights.num_rows and wrong_values == 0


@contextmanager
def _stage(name: str, seconds: dict[str, float], console: Console) -> Iterator[None]:
    console.print(f"… {name}", highlight=False)
    start = time.monotonic()
    yield
    seconds[name] = time.monotonic() - start


def _ingest(run: FlightsRun, console: Console, expected: Mapping[str, int]) -> Statuses:
    columns = (
        TextColumn("  {task.description:<11}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        tasks = {
            name: progress.add_task(name, total=total, state="") for name, total in expected.items()
        }

        def show(statuses: Statuses) -> None:
            for name, status in statuses.items():
                lag = status["lag_records"]
                state = status["state"] if lag is None else f"{status['state']} lag {lag:,}"
                progress.update(tasks[name], completed=status["account"]["records"], state=state)

        return run.wait_until_ingested(expected, timeout_s=INGEST_TIMEOUT_S, on_progress=show)


def _print_summary(
    run: FlightsRun,
    console: Console,
    *,
    expected: Mapping[str, int],
    seconds: Mapping[str, float],
    statuses: Statuses,
) -> None:
    streams = Grid("stream", "records", "accepted", "folded", "dead-lettered", "lag", "snapshot")
    for name, status in statuses.items():
        account = status["account"]
        counts = (account["records"], account["accepted"], account["folded"])
        streams.add_row(
            name,
            *(f"{count:,}" for count in (*counts, account["dead_lettered"])),
            f"{status['lag_records']}",
            f"{status['last_commit']['snapshot_id']}",
        )
    console.print(streams)
    stages = Grid("stage", "seconds")
    for name, value in seconds.items():
        stages.add_row(name, f"{value:.1f}")
    console.print(stages)
    table = run.table()
    snapshot = table.latest_snapshot()
    total = sum(expected.values())
    ingest_s = seconds["produce, ingest, commit"]
    console.print(
        f"messages: {total:,} ({total / ingest_s:,.0f}/s)"
        f"   snapshots: {snapshot.id if snapshot else 0}"
        f"   files: {table.scan().plan().files_total}"
    )


def _print_row(run: FlightsRun, console: Console, key: Mapping[str, object]) -> None:
    console.print("one wide row over HTTP, and which stream delivered what:")
    console.print_json(json.dumps(run.get_row(key)))
    console.print_json(json.dumps(run.get_row(key, status=True)))


def _print_store(store: S3Server, console: Console) -> None:
    injected = ", ".join(f"{count:,} {kind}" for kind, count in store.proxy.injected.items())
    console.print(
        f"requests to the object store: {store.proxy.request_count:,}"
        + (f", of them {injected}" if injected else ""),
        highlight=False,
    )


def _keep(run: FlightsRun, console: Console) -> None:
    console.print("running until Ctrl-C; for another shell:", highlight=False)
    named = {"API": run.api, "KAFKA": run.broker.bootstrap_servers, "WAREHOUSE": run.warehouse}
    print_exports(console, {**named, **run.environment})
    while True:
        run.check_children()  # a runner that dies must not go unnoticed
        time.sleep(1.0)


def print_exports(console: Console, values: Mapping[str, str]) -> None:
    """Print lines that can be pasted into a shell, however narrow the terminal."""
    for name, value in values.items():
        line = f"export {name}={shlex.quote(value)}"
        console.print(line, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
