"""Snapshots for tests that need few of their fields."""

from braid.lake.format.snapshot import CommitKind, Snapshot


def given_snapshot(snapshot_id: int) -> Snapshot:
    """Return a snapshot of nothing, of schema 0."""
    return Snapshot(
        id=snapshot_id,
        schema_id=0,
        base_manifest_list="b",
        delta_manifest_list="d",
        commit_user="u",
        commit_identifier=1,
        commit_kind=CommitKind.APPEND,
        time_millis=0,
        total_record_count=0,
        delta_record_count=0,
    )
