"""Implementation of `braid compact` (declared in `main`): results on stdout, all else on stderr.

On stderr are the progress, dropped compactions and errors.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack
from functools import cache, partial

import typer

from braid.cli.arguments import one_line_errors
from braid.cli.audit import record_maintenance
from braid.cli.exits import EXIT_TRY_AGAIN
from braid.lake import (
    BucketPool,
    Catalog,
    CompactionPool,
    CompactionResult,
    DroppedCompaction,
    LakeError,
    Table,
    compact_buckets,
)
from braid.schemas import CompactionRequest


def compact_tables(
    warehouse: str,
    identifiers: Sequence[str],
    *,
    full: bool,
    workers: int | None,
    new_pool: Callable[[], AbstractContextManager[BucketPool]] | None = None,
) -> int:
    """Compact tables one after the other and print the results.

    An error of one table is printed in one line, and the other tables are still compacted.

    Args:
        warehouse: Absolute path or address.
        identifiers: The tables, as `database.table`.
        full: Compact everything; otherwise only what is due.
        workers: Number of processes; each compacts one bucket at a time and commits it by itself.
            None: this process compacts bucket after bucket and commits small ones together.
        new_pool: Starts what compacts instead, such as the executors of a cluster.

    Returns:
        The exit status (`exit_status`).
    """
    _show_progress()
    catalog = Catalog(warehouse)

    def attempt(identifier: str, begin: Callable[[], Callable[[Table], int]]) -> int:
        try:
            with one_line_errors():
                table = catalog.table(identifier)
                compact = begin()
                record_maintenance(warehouse, identifier, CompactionRequest(full=full))
                return compact(table)
        except typer.Exit as ended:
            return ended.exit_code

    if workers is None and new_pool is None:
        statuses = [attempt(name, lambda: partial(_compact, full=full)) for name in identifiers]
    else:
        with ExitStack() as stack:
            # Started for the first table that exists: a cluster takes half a minute.
            pool = cache(lambda: stack.enter_context(_pool(workers, new_pool)))
            statuses = [
                attempt(name, lambda: partial(_compact_with, pool(), full=full))
                for name in identifiers
            ]
    return exit_status(statuses)


def _pool(
    workers: int | None, new_pool: Callable[[], AbstractContextManager[BucketPool]] | None
) -> AbstractContextManager[BucketPool]:
    if new_pool is not None:
        return new_pool()
    assert workers is not None, "without a pool of its own a command names the processes"
    return CompactionPool(workers=workers)


def exit_status(statuses: Sequence[int]) -> int:
    """Return the exit status of several tables.

    Returns:
        The first status that is neither 0 nor `EXIT_TRY_AGAIN`; without one `EXIT_TRY_AGAIN` if a table has it, because
        work was dropped or storage did not answer, else 0.
    """
    failed = [status for status in statuses if status not in (0, EXIT_TRY_AGAIN)]
    return failed[0] if failed else max(statuses, default=0)


def _compact(table: Table, *, full: bool) -> int:
    """Compact all buckets in this process."""
    result = table.compact(full=full)
    _print_dropped(result.dropped)
    typer.echo(f"{table.identifier}: {_summary(result)}")
    return EXIT_TRY_AGAIN if result.dropped else 0


def _compact_with(pool: BucketPool, table: Table, *, full: bool) -> int:
    """Compact the buckets in the processes of the pool, one commit per bucket."""
    total = CompactionResult()
    errors: list[LakeError | OSError] = []
    try:
        for outcome in compact_buckets(pool, table, full=full):
            if outcome.result is None:
                errors += [] if outcome.error is None else [outcome.error]
                continue
            total = total.plus(outcome.result)
            _print_dropped(outcome.result.dropped)
            if outcome.result.snapshot_id is not None:
                typer.echo(f"bucket {outcome.bucket_id[1]}: {_summary(outcome.result)}", err=True)
    except BrokenProcessPool as error:
        message = f"a process that compacts {table.identifier} was killed; compact again"
        raise OSError(message) from error
    typer.echo(f"{table.identifier}: {_summary(total)}")
    if errors:
        raise errors[0]
    return EXIT_TRY_AGAIN if total.dropped else 0


def _print_dropped(dropped: Iterable[DroppedCompaction]) -> None:
    for work in dropped:
        place = f"{work.partition}/" if work.partition else ""
        text = f"dropped: {place}bucket {work.bucket}, {work.files} files: {work.reason}"
        typer.echo(text, err=True)


def _summary(result: CompactionResult) -> str:
    if result.snapshot_id is None:
        return "no snapshot, all work was dropped" if result.dropped else "nothing to compact"
    return (
        f"snapshot {result.snapshot_id}, {_count(result.buckets, 'bucket')}: "
        f"{_count(result.files_in, 'file')} with {_count(result.rows_in, 'row')} in, "
        f"{_count(result.files_out, 'file')} with {_count(result.rows_out, 'row')} out"
        f" ({result.files_moved} only moved)"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _show_progress() -> None:
    """Send the engine's log, one line per bucket, to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("braid.lake.maintenance")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
