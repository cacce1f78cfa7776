"""Implementation of `braid table clean-orphans` (declared in `table_work_cli`): files on stdout, the total on stderr."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime

import typer

from braid.cli.audit import record_maintenance
from braid.lake import Catalog, Spread
from braid.schemas import OrphanCleaningRequest


def clean(
    warehouse: str,
    identifier: str,
    *,
    min_age_ms: int,
    delete: bool,
    new_spread: Callable[[], AbstractContextManager[Spread | None]] = nullcontext,
) -> int:
    """Print the orphan files, delete them if `delete` is set; return the exit status.

    Args:
        warehouse: Absolute path or address.
        identifier: The table, as `database.table`.
        min_age_ms: Younger files are kept.
        delete: Whether orphans are deleted.
        new_spread: Starts what lists and deletes: this process, or the executors of a cluster.

    Raises:
        LakeError: What `Table.clean_orphans` raises.
    """
    table = Catalog(warehouse).table(identifier)
    # Not validated: operators may delete younger files than requests over HTTP may.
    request = OrphanCleaningRequest.model_construct(
        dry_run=not delete, min_age_seconds=min_age_ms // 1000
    )
    record_maintenance(warehouse, identifier, request)
    with new_spread() as spread:
        report = table.clean_orphans(min_age_ms=min_age_ms, delete=delete, spread=spread)
    for file in report.files:
        modified = datetime.fromtimestamp(file.modified_ms / 1000, tz=UTC)
        when = modified.isoformat(timespec="seconds")
        typer.echo(f"{file.path}\t{file.size}\t{when}\t{file.reason}")
    files = f"{len(report.files)} file{'' if len(report.files) == 1 else 's'}"
    done = "deleted" if report.is_deleted else "found, nothing was deleted (--delete does)"
    typer.echo(
        f"{identifier}: {files}, {report.size} bytes {done}; {report.younger_files} younger kept",
        err=True,
    )
    return 0
