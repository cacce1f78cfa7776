"""Implementation of `braid table tag` with a warehouse (declared in `tag_cli`): creates, lists, deletes and expires tags.

Results are printed on stdout. If a deletion leaves files behind, a line on stderr says so.
"""

from typing import Final

import typer

from braid.cli.audit import record
from braid.cli.output import OutputFormat, TextTable, cell, print_document
from braid.lake import Catalog, TagDeletion
from braid.registry.storage_changes import named_snapshot, tag_change
from braid.schemas import AuditAction
from braid.schemas.snapshots import TagList, TagView
from braid.service.control.snapshot_resources import list_tags, tag_view

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
    typer.echo(created_line(identifier, tag_view(tag)))
    return 0


def show(warehouse: str, identifier: str, *, output: OutputFormat) -> int:
    """Print all tags, by name; return the exit status."""
    found = list_tags(Catalog(warehouse).table(identifier))
    print_document(found, output, tags_text(found))
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


def tags_text(found: TagList) -> TextTable:
    """Return a line for each tag."""
    rows = [(tag.name, cell(tag.snapshot_id), tag.committed_at, _kept(tag)) for tag in found.tags]
    columns = ("tag", "snapshot", "committed at", "kept")
    return TextTable(columns=columns, rows=rows, numbers=frozenset({"snapshot"}))


def created_line(identifier: str, tag: TagView) -> str:
    """Return what the creation of a tag prints."""
    return f"{identifier}: tag {tag.name} of snapshot {tag.snapshot_id}, kept {_kept(tag)}"


def _kept(tag: TagView) -> str:
    """Return how long a tag is kept, in the units of `--retain`."""
    if tag.retained_seconds is None:
        return "for ever"
    parts, left_ms = [], round(tag.retained_seconds * 1_000)
    for name, unit_ms in _UNITS_MS.items():
        count, left_ms = divmod(left_ms, unit_ms)
        parts += [f"{count} {name}"] if count else []
    return " ".join(parts) or "0 s"
