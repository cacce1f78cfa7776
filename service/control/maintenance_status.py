"""Status of a table's maintenance, from its newest snapshot, its options and the reports of living runners."""

from braid.lake import Snapshot, Table
from braid.registry.store.progress import RunnerReports
from braid.schemas import MaintenanceStatus, TableMaintenanceView
from braid.service.times import iso_utc


def maintenance_status(
    table: Table, reports: RunnerReports, *, alive_since_ms: int
) -> MaintenanceStatus:
    """Return the status of a table's maintenance.

    Args:
        table: The table.
        reports: The reports of all runners.
        alive_since_ms: A runner whose report is older is gone; milliseconds since the epoch.
    """
    database, name = table.identifier.split(".")
    newest = table.latest_snapshot()
    runs = table.runs_per_bucket()
    options = table.schema.table_options
    reported = [
        TableMaintenanceView(
            worker_id=runner.runner,
            reported_at=iso_utc(runner.updated_ms),
            **runner.tables[table.identifier].model_dump(),
        )
        for runner in reports.runners
        if table.identifier in runner.tables and runner.is_alive(alive_since_ms)
    ]
    return MaintenanceStatus(
        database=database,
        table=name,
        snapshot_id=None if newest is None else newest.id,
        buckets=len(runs),
        most_runs=max(runs.values(), default=0),
        tombstones=0 if newest is None else _tombstones(table, newest),
        compaction_trigger=options.num_sorted_run_compaction_trigger,
        stop_trigger=options.num_sorted_run_stop_trigger,
        upkeep=tuple(reported),
        unreadable_reports=reports.unreadable,
    )


def _tombstones(table: Table, snapshot: Snapshot) -> int:
    """Return the number of retracts on the highest level, from the counts of its files."""
    highest = table.schema.table_options.num_levels - 1
    return sum(
        entry.file.delete_row_count or 0
        for entry in table.live_files(snapshot)
        if entry.file.level == highest
    )
