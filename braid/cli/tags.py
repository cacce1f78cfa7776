"""Implementation of `braid table tag` (declared in `table_cli`): creates, lists, deletes and expires tags.

Results are printed on stdout. If a deletion leaves files behind, a line on stderr says so.
"""

from typing import Final

import typer

from braid.cli.audit import record
from braid.lake import Catalog, TagDeletion
from braid.registry.storage_changes import named_snapshot, tag_change
from braid.schemas import AuditAction

_UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1_000, "ms": 1}


def create(
    warehouse: str, identifier: str, name: str, snapshot_id: int | None, retained_ms: int | None
) -> int:
    """Create a tag and print it; return the exit status."""
    table = Catalog(warehouse).table(identifier)
    change = tag_change(name, after=snapshot_id or "newest")
    tag = table.create_tag(
        name,
        snapshot_id=snapshot_id,
        retained_ms=retained_ms,
        announce=lambda: record(warehouse, identifier, AuditAction.PUT_TAG, change),
    )
    typer.echo(
        f"{identifier}: tag {name} of snapshot {tag.snapshot.id}, {_retention(tag.retained_ms)}"
    )
    return 0


def list_all(warehouse: str, identifier: str) -> int:
    """Print all tags, one line each; return the exit status."""
    for tag in Catalog(warehouse).table(identifier).tags():
        typer.echo(f"{tag.name}\tsnapshot {tag.snapshot.id}\t{_retention(tag.retained_ms)}")
    return 0


def delete(warehouse: str, identifier: str, name: str) -> int:
    """Delete a tag and print the number of files deleted with it; return the exit status."""
    table = Catalog(warehouse).table(identifier)
    found = named_snapshot(table, name)
    if found is not None:
        record(warehouse, identifier, AuditAction.DELETE_TAG, tag_change(name, before=found))
    _print_deletion(identifier, table.delete_tag(name))
    return 0


def expire(warehouse: str, identifier: str) -> int:
    """Delete the tags whose time to live is over and print them; return the exit status."""
    expired = Catalog(warehouse).table(identifier).expire_tags()
    for deletion in expired:
        _print_deletion(identifier, deletion)
    if not expired:
        typer.echo(f"{identifier}: no tag has expired")
    return 0


def _print_deletion(identifier: str, deletion: TagDeletion) -> None:
    files = f"{deletion.deleted_files} file{'' if deletion.deleted_files == 1 else 's'}"
    typer.echo(f"{identifier}: tag {deletion.name} is deleted, with {files} of its own")
    if deletion.left_over is not None:
        typer.echo(f"its files are left for clean-orphans: {deletion.left_over}", err=True)


def _retention(retained_ms: int | None) -> str:
    """Return how long a tag is kept, in the units of `--retain`."""
    if retained_ms is None:
        return "kept for ever"
    parts, left_ms = [], retained_ms
    for name, unit_ms in _UNITS_MS.items():
        count, left_ms = divmod(left_ms, unit_ms)
        parts += [f"{count} {name}"] if count else []
    return f"kept {' '.join(parts) or '0 s'}"
