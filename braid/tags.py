"""Tags on the command line."""

from datetime import timedelta

import typer

from lake import Catalog, TagDeletion


def create(
    warehouse: str, identifier: str, name: str, snapshot_id: int | None, retained_ms: int | None
) -> int:
    """Make a tag and print it; return the status to exit with."""
    table = Catalog(warehouse).table(identifier)
    tag = table.create_tag(name, snapshot_id=snapshot_id, retained_ms=retained_ms)
    typer.echo(f"{identifier}: tag {name} of snapshot {tag.snapshot.id}, {_life(tag.retained_ms)}")
    return 0


def list_all(warehouse: str, identifier: str) -> int:
    """Print all tags, a line each; return the status to exit with."""
    for tag in Catalog(warehouse).table(identifier).tags():
        typer.echo(f"{tag.name}\tsnapshot {tag.snapshot.id}\t{_life(tag.retained_ms)}")
    return 0


def delete(warehouse: str, identifier: str, name: str) -> int:
    """Delete a tag and print what went with it; return the status to exit with."""
    _tell(identifier, Catalog(warehouse).table(identifier).delete_tag(name))
    return 0


def expire(warehouse: str, identifier: str) -> int:
    """Delete tags whose time is over and print them; return the status to exit with."""
    expired = Catalog(warehouse).table(identifier).expire_tags()
    for done in expired:
        _tell(identifier, done)
    if not expired:
        typer.echo(f"{identifier}: no tag's time is over")
    return 0


def _tell(identifier: str, done: TagDeletion) -> None:
    files = f"{done.deleted_files} file{'' if done.deleted_files == 1 else 's'}"
    typer.echo(f"{identifier}: tag {done.tag.name} is deleted, and {files} that only it needed")
    if done.left_over is not None:
        typer.echo(f"its files are left to clean-orphans: {done.left_over}", err=True)


def _life(retained_ms: int | None) -> str:
    return "kept for ever" if retained_ms is None else f"kept {timedelta(milliseconds=retained_ms)}"
