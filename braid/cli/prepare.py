"""Implementation of `braid prepare` (declared in `main`): what was made, on stdout."""

from collections.abc import Sequence
from pathlib import Path

import typer

from braid.cli.arguments import one_line_errors, refuse
from braid.pipelines.spark.class_archive import TrainingFailed, make_archive
from braid.pipelines.spark.environment_archive import make_environment_archive
from braid.pipelines.spark.jars import JarError

_MEGABYTE = 1_000_000


def prepare(
    jars: Sequence[Path], *, archive: Path | None, packages: Sequence[str], is_code_only: bool
) -> int:
    """Make what runners and executors start with, and return the exit status.

    Args:
        jars: Jars of Kafka clusters.
        archive: Where the archive of packages belongs; None: none is made.
        packages: Further distributions in it.
        is_code_only: Whether it has Braid alone.
    """
    if archive is None and (packages or is_code_only):
        refuse("--archive", None, "expected together with `--package` and `--code-only`")
    status = 0
    with one_line_errors():
        try:
            classes = make_archive(jars)
        except (JarError, TrainingFailed) as error:
            typer.echo(f"error: the classes of Spark's JVM are not archived: {error}", err=True)
            status = 1  # runners work without, so executors get their packages all the same
        else:
            typer.echo(f"the classes of Spark's JVM are in {classes}")
        if archive is not None:
            made = make_environment_archive(archive, packages=packages, is_code_only=is_code_only)
            state = "made" if made.is_new else "up to date"
            count = f"{len(made.packages)} package{'' if len(made.packages) == 1 else 's'}"
            size = f"{made.size / _MEGABYTE:.1f} MB"
            typer.echo(f"what executors need is in {made.path} ({state}): {count}, {size}")
    return status
