"""Tags on the command line."""

from typing import Final

import typer

from lake import Catalog, TagDeletion

_UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1_000, "ms": 1}


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
    """Return how long a tag is kept, in the units that `--retain` takes."""
    if retained_ms is None:
        return "kept for ever"
    parts, left_ms = [], retained_ms
    for name, unit_ms in _UNITS_MS.items():
        count, left_ms = divmod(left_ms, unit_ms)
        parts += [f"{count} {name}"] if count else []
    return f"kept {' '.join(parts) or '0 s'}"
