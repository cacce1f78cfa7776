"""Compacts one table for the command line: progress and what was dropped on stderr, the result on stdout."""

import logging

import typer

from braid.arguments import EXIT_TRY_AGAIN
from lake import Catalog, CompactionResult


def compact_table(warehouse: str, identifier: str) -> int:
    """Compact a table and print what was done.

    Returns:
        The status to exit with: 0, or that for trying again later where work was dropped.

    Raises:
        LakeError: As `Table.compact` does; nothing was committed, unless it is `CommitUnknown`.
    """
    _show_progress()
    result = Catalog(warehouse).table(identifier).compact()
    for dropped in result.dropped:
        place = f"{dropped.partition}/" if dropped.partition else ""
        text = f"dropped: {place}bucket {dropped.bucket}, {dropped.files} files: {dropped.reason}"
        typer.echo(text, err=True)
    typer.echo(f"{identifier}: {_summary(result)}")
    return EXIT_TRY_AGAIN if result.dropped else 0


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
    """Let the engine's log of each bucket appear on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("lake.maintenance")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
