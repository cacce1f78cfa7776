"""Implementation of `braid table clean-orphans` (declared in `table_work_cli`): files on stdout, the total on stderr."""

from datetime import UTC, datetime

import typer

from braid.cli.audit import record_maintenance
from braid.lake import Catalog
from braid.schemas import OrphanCleaningRequest


def clean(warehouse: str, identifier: str, *, min_age_ms: int, delete: bool) -> int:
    """Print the orphan files, delete them if `delete` is set; return the exit status.

    Raises:
        LakeError: What `Table.clean_orphans` raises.
    """
    table = Catalog(warehouse).table(identifier)
    # Not validated: operators may delete younger files than requests over HTTP may.
    request = OrphanCleaningRequest.model_construct(
        dry_run=not delete, min_age_seconds=min_age_ms // 1000
    )
    record_maintenance(warehouse, identifier, request)
    report = table.clean_orphans(min_age_ms=min_age_ms, delete=delete)
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
