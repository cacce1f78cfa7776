"""Orphan cleaning on the command line: a line per file, the sum on stderr."""

from datetime import UTC, datetime

import typer

from lake import Catalog


def clean(warehouse: str, identifier: str, *, min_age_ms: int, delete: bool) -> int:
    """Print the orphans, and delete them if told to; return the status to exit with.

    Raises:
        LakeError: As `Table.clean_orphans` does.
    """
    report = (
        Catalog(warehouse).table(identifier).clean_orphans(min_age_ms=min_age_ms, delete=delete)
    )
    for file in report.files:
        modified = datetime.fromtimestamp(file.modified_ms / 1000, tz=UTC)
        when = modified.isoformat(timespec="seconds")
        typer.echo(f"{file.path}\t{file.size}\t{when}\t{file.reason}")
    files = f"{len(report.files)} file{'' if len(report.files) == 1 else 's'}"
    done = "deleted" if report.is_deleted else "found, nothing was deleted (--delete does)"
    typer.echo(
        f"{identifier}: {files}, {report.size} bytes {done}; "
        f"{report.younger_files} younger left alone",
        err=True,
    )
    return 0
