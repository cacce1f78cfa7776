"""Reports of the maintenance of tables, from the counts of the engine's maintenance service."""

from collections.abc import Mapping

from braid.lake import MaintenanceStats
from braid.schemas import TableProgress


def maintenance_reports(
    stats: Mapping[str, MaintenanceStats], *, error: str | None = None
) -> dict[str, TableProgress]:
    """Return the reports by `db.table`.

    Args:
        stats: The counts, by `db.table`.
        error: Why nothing is maintained any more; None: the error of each table counts.
    """
    return {
        identifier: TableProgress(
            looks=one.polls,
            buckets=one.buckets,
            most_runs=one.most_runs,
            files=one.files,
            file_bytes=one.file_bytes,
            snapshot_id=one.snapshot_id,
            snapshots=one.snapshots,
            compactions=one.compactions,
            dropped=one.dropped,
            rows_in=one.rows_in,
            rows_out=one.rows_out,
            expired=one.expired,
            failures=one.failures,
            error=error or one.error,
        )
        for identifier, one in stats.items()
    }
