"""The snapshot that follows another one, in memory: its id, commit time and content.

Source:
    Table format, sections 3 and 18.2.
"""

from collections.abc import Callable
from dataclasses import dataclass

from braid.lake.commit.attempt_files import WrittenList
from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.intent import Intent, Revision
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import MAX_SEQUENCE_NUMBER_PROPERTY, Snapshot
from braid.lake.snapshots.lineage import lineage_properties

WRITER_VERSION = "braid"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFiles:
    """Manifest lists and index manifest of a snapshot.

    Attributes:
        base: List of the manifests before the commit.
        delta: List of the manifests with the commit's data files.
        changelog: List of the manifests with the commit's changelog files, None without any.
        index_manifest: Name of the commit's index manifest; None when the commit changes no index
            files, so that the previous snapshot's index manifest is carried forward.
    """

    base: WrittenList
    delta: WrittenList
    changelog: WrittenList | None = None
    index_manifest: str | None = None


def next_time_ms(
    previous: Snapshot | None, now_ms: int, *, commit_time_ms: Callable[[Snapshot], int]
) -> int:
    """Return the commit time of the snapshot after `previous`: the clock's, or that of `previous` if later.

    Times must not go back, because time travel searches the chain by them. If the clock that dated
    `previous` was ahead, the time of its file counts instead of its own.

    Args:
        previous: The newest snapshot.
        now_ms: Milliseconds since 1970 UTC.
        commit_time_ms: Returns when a snapshot was committed, as `SnapshotStore.commit_time_ms` does.
    """
    if previous is None or previous.time_millis <= now_ms:
        return now_ms
    return max(now_ms, commit_time_ms(previous))


def next_snapshot_id(previous: Snapshot | None) -> int:
    """Return the id after `previous`; the first is 1."""
    return 1 if previous is None else previous.id + 1


def next_snapshot(
    previous: Snapshot | None,
    *,
    intent: Intent,
    changes: CommitChanges,
    revision: Revision,
    schema: TableSchema,
    files: SnapshotFiles,
    uuid: str,
    time_ms: int,
    max_sequence_number: int,
) -> Snapshot:
    """Return the snapshot after `previous`.

    Watermark and next row id are carried forward. So are the index manifest, unless the commit changes index
    files, and the statistics, as long as the schema stays. The state of all streams is that of the revision.

    Args:
        previous: The newest snapshot, None for the first commit.
        intent: The intent that is committed.
        changes: Manifest entries of the commit, with the sequence numbers of this snapshot.
        revision: Identifier, stream state and properties of the snapshot.
        schema: The newest schema.
        files: The manifest lists on storage.
        uuid: Id of the snapshot, fresh and random.
        time_ms: Commit time, from `next_time_ms`.
        max_sequence_number: The highest in the table before this commit, -1 for none.
    """
    # In tables ordered by snapshot the entries have other sequence numbers than the writers gave out.
    # The writers' numbers count too: they are in the files, and older engines order by them.
    highest = max(max_sequence_number, intent.max_sequence_number, changes.max_sequence_number)
    properties = {
        **revision.properties,
        **revision.streams.properties(),
        **lineage_properties(previous),
    }
    if highest >= 0:
        properties[MAX_SEQUENCE_NUMBER_PROPERTY] = str(highest)
    # Statistics describe the columns of one schema.
    is_same_schema = previous is not None and previous.schema_id == schema.id
    return Snapshot(
        uuid=uuid,
        id=next_snapshot_id(previous),
        schema_id=schema.id,
        base_manifest_list=files.base.name,
        base_manifest_list_size=files.base.size,
        delta_manifest_list=files.delta.name,
        delta_manifest_list_size=files.delta.size,
        changelog_manifest_list=files.changelog.name if files.changelog else None,
        changelog_manifest_list_size=files.changelog.size if files.changelog else None,
        index_manifest=files.index_manifest or (previous.index_manifest if previous else None),
        commit_user=intent.user,
        writer_version=WRITER_VERSION,
        commit_identifier=revision.identifier,
        commit_kind=intent.kind,
        time_millis=time_ms,
        total_record_count=(
            (previous.total_record_count if previous else 0) + changes.delta_record_count
        ),
        delta_record_count=changes.delta_record_count,
        changelog_record_count=changes.changelog_record_count if files.changelog else None,
        watermark=previous.watermark if previous else None,
        statistics=previous.statistics if previous and is_same_schema else None,
        properties=properties,
        next_row_id=(previous.next_row_id if previous else None) or 0,
    )
