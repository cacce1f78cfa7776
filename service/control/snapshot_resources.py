"""Snapshots, tags and compactions of a table: pages of them, single ones, and new tags."""

from collections import defaultdict
from typing import Any, Final

from braid.lake import InvalidRequest, LakeError, Problem, Snapshot, Table, Tag
from braid.registry.storage_changes import tag_change
from braid.registry.store.audit_log import AuditLog, AuditNote
from braid.registry.store.revision import Precondition, revision_of
from braid.schemas import Actor, AuditAction
from braid.schemas.snapshots import (
    CompactionList,
    CompactionView,
    SnapshotList,
    SnapshotView,
    TagList,
    TagRequest,
    TagView,
)
from braid.service.control.page_token import decode_token, encode_token, not_a_token
from braid.service.times import iso_utc

SNAPSHOTS_READ: Final = 1_000
"""Newest snapshots in which compactions are looked for; each is a small read."""


class SnapshotNotFound(LakeError):
    """The table has no such snapshot, or not any more."""


class TagNotFound(LakeError):
    """The table has no such tag."""


def list_snapshots(table: Table, *, page_size: int, page_token: str | None) -> SnapshotList:
    """Return a page of snapshots, the newest first.

    Raises:
        InvalidRequest: The token is not one of this list.
    """
    newest = table.latest_snapshot()
    if newest is None:
        return SnapshotList(snapshots=())
    below = newest.id + 1 if page_token is None else _numbers(page_token, 1)[0]
    names = _tags_by_snapshot(table)
    page: list[SnapshotView] = []
    for snapshot_id in range(min(below - 1, newest.id), 0, -1):
        snapshot = _found(table, snapshot_id)
        if snapshot is None:  # this one and all older ones have expired
            return SnapshotList(snapshots=tuple(page))
        if len(page) == page_size:
            return SnapshotList(snapshots=tuple(page), next_page_token=_token(snapshot_id + 1))
        page.append(_snapshot_view(snapshot, names[snapshot_id]))
    return SnapshotList(snapshots=tuple(page))


def find_snapshot(table: Table, snapshot_id: int) -> SnapshotView:
    """Return a snapshot.

    Raises:
        SnapshotNotFound: It was never made, or has expired.
    """
    snapshot = _found(table, snapshot_id)
    if snapshot is None:
        message = (
            f"{table.identifier} has no snapshot {snapshot_id}, or not any more\n"
            "hint: `GET …/snapshots` lists those that are kept"
        )
        raise SnapshotNotFound(message)
    return _snapshot_view(snapshot, _tags_by_snapshot(table)[snapshot_id])


def list_tags(table: Table) -> TagList:
    """Return all tags, by name."""
    return TagList(tags=tuple(map(tag_view, sorted(table.tags(), key=lambda tag: tag.name))))


def find_tag(table: Table, name: str) -> TagView:
    """Return a tag.

    Raises:
        TagNotFound: There is none of the name.
    """
    found = _tag(table, name)
    if found is None:
        message = f"{table.identifier} has no tag {name[:200]}\nhint: `GET …/tags` lists those that it has"
        raise TagNotFound(message)
    return tag_view(found)


def put_tag(
    table: Table,
    name: str,
    request: TagRequest,
    *,
    audit: AuditLog,
    actor: Actor,
    precondition: Precondition,
) -> tuple[TagView, bool]:
    """Create a tag, or find an equal one; return it, and whether it is new.

    Args:
        table: The table.
        name: The tag's name.
        request: The snapshot, and how long the tag is kept.
        audit: The audit log, which gets an entry right before the tag is created, once the request is known to be valid.
        actor: Who creates it.
        precondition: Condition on the revision of the tag's view, checked before the tag is created.

    Raises:
        PreconditionFailed: The condition does not hold.
        InvalidRequest: The name is not valid, a tag of the name is of another snapshot, or there is no such snapshot.
    """
    found = _tag(table, name)
    precondition.check(None if found is None else revision_of(tag_view(found)))
    if found is None:
        change = tag_change(name, after=request.snapshot_id or "newest")
        note = AuditNote(actor=actor, action=AuditAction.PUT_TAG)
        tag = table.create_tag(
            name,
            snapshot_id=request.snapshot_id,
            retained_ms=request.retained_seconds and request.retained_seconds * 1_000,
            announce=lambda: audit.record(note, table.identifier, changes=(change,)),
        )
        return tag_view(tag), True
    if request.snapshot_id not in (None, found.snapshot.id):
        problem = Problem(
            field="snapshot_id",
            value=str(request.snapshot_id),
            message=f"the tag is of snapshot {found.snapshot.id}",
            hint="delete the tag first, or take another name",
        )
        message = f"the tag {name} of {table.identifier} exists"
        raise InvalidRequest(message, problems=[problem])
    return tag_view(found), False


def list_compactions(table: Table, *, page_size: int, page_token: str | None) -> CompactionList:
    """Return a page of the compactions of buckets, the newest first.

    Raises:
        InvalidRequest: The token is not one of this list.
    """
    rows = table.inspect.compactions(SNAPSHOTS_READ).to_pylist()[::-1]
    # By the snapshot, because new compactions come before the ones that are shown already.
    newest, shown = (None, 0) if page_token is None else _numbers(page_token, 2)
    rows = [row for row in rows if newest is None or row["snapshot_id"] <= newest][shown:]
    page = rows[:page_size]
    views = tuple(map(_compaction_view, page))
    if len(rows) <= page_size:
        return CompactionList(compactions=views)
    last = page[-1]["snapshot_id"]
    shown = sum(row["snapshot_id"] == last for row in page) + (shown if last == newest else 0)
    return CompactionList(compactions=views, next_page_token=_token(last, shown))


def _found(table: Table, snapshot_id: int) -> Snapshot | None:
    try:
        return table.snapshot(snapshot_id)
    except InvalidRequest:
        return None


def _tag(table: Table, name: str) -> Tag | None:
    return next((tag for tag in table.tags() if tag.name == name), None)


def _tags_by_snapshot(table: Table) -> defaultdict[int, list[str]]:
    names: defaultdict[int, list[str]] = defaultdict(list)
    for tag in table.tags():
        names[tag.snapshot.id].append(tag.name)
    return names


def _snapshot_view(snapshot: Snapshot, tags: list[str]) -> SnapshotView:
    return SnapshotView(
        id=snapshot.id,
        kind=snapshot.commit_kind.value,
        committed_at=iso_utc(snapshot.time_millis),
        commit_user=snapshot.commit_user,
        schema_id=snapshot.schema_id,
        rows=snapshot.total_record_count,
        added_rows=snapshot.delta_record_count,
        changelog_rows=snapshot.changelog_record_count,
        tags=tuple(sorted(tags)),
    )


def tag_view(tag: Tag) -> TagView:
    """Return the view of a tag."""
    return TagView(
        name=tag.name,
        snapshot_id=tag.snapshot.id,
        committed_at=iso_utc(tag.snapshot.time_millis),
        retained_seconds=None if tag.retained_ms is None else tag.retained_ms / 1_000,
    )


def _compaction_view(row: dict[str, Any]) -> CompactionView:
    fields = {name: row[name] for name in CompactionView.model_fields if name != "committed_at"}
    committed_ms = round(row["committed_at"].timestamp() * 1_000)
    return CompactionView(**fields, committed_at=iso_utc(committed_ms))


def _token(*numbers: int) -> str:
    return encode_token(".".join(map(str, numbers)).encode())


def _numbers(token: str, count: int) -> list[int]:
    try:
        numbers = [int(part) for part in decode_token(token).decode().split(".")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise not_a_token(token)
    return numbers
