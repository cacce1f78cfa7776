"""The state of streams and tables as a warehouse has it: the statuses that a service would answer, and who has the streams."""

from collections.abc import Iterator
from typing import NamedTuple

from braid.cli.doctor.findings import Finding, Level
from braid.lake import Catalog, Clock, FileIO, LakeError, Table
from braid.registry.store.documents import RegisteredTables, RegistryStore
from braid.registry.store.leases import MAINTENANCE, LeaseStore
from braid.registry.store.progress import (
    ProgressStore,
    RunnerReports,
    current_report,
    stream_key,
)
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import MaintenanceStatus, StreamSpec, StreamStatus, TableDocument
from braid.service.control.maintenance_status import maintenance_status
from braid.service.control.stream_status import stream_status
from braid.service.settings import RUNNER_TIMEOUT_MS


class StoredState(NamedTuple):
    """What a warehouse has.

    Attributes:
        streams: The statuses of all streams.
        maintenance: The states of the compaction of all tables.
        specs: The declarations of the streams, in their order.
        findings: The holders of streams and leases, and what could not be read.
    """

    streams: list[StreamStatus]
    maintenance: list[MaintenanceStatus]
    specs: list[StreamSpec]
    findings: list[Finding]


def read_state(file_io: FileIO, warehouse: str, clock: Clock) -> StoredState:
    """Return the state of all registered tables.

    Raises:
        StorageUnavailable: Storage does not answer.
    """
    registered = RegistryStore(file_io, warehouse, clock).tables()
    reports = ProgressStore(file_io, warehouse, clock).read_all()
    catalog = Catalog(warehouse, file_io=file_io, clock=clock)
    leases = LeaseStore(file_io, warehouse, clock)
    holders = StreamHolders(file_io, warehouse, clock)
    alive_since_ms = clock.now_ms() - RUNNER_TIMEOUT_MS
    found = StoredState([], [], [], [*_unreadable(registered, reports)])
    for document in registered.documents:
        try:
            table = catalog.table(document.identifier)
            statuses = list(_statuses(document, table, reports, clock, alive_since_ms))
            maintenance = maintenance_status(table, reports, alive_since_ms=alive_since_ms)
        except LakeError as error:
            if error.retryable:
                raise
            found.findings.append(_table_problem(document.identifier, error))
            continue
        found.streams.extend(statuses)
        found.specs.extend(document.streams[one.stream].spec for one in statuses)
        found.maintenance.append(maintenance)
        found.findings.extend(_holders(document, holders, leases))
    return found


def _statuses(
    document: TableDocument,
    table: Table,
    reports: RunnerReports,
    clock: Clock,
    alive_since_ms: int,
) -> Iterator[StreamStatus]:
    positions = table.committer().stream_positions()
    for name, entry in sorted(document.streams.items()):
        yield stream_status(
            document,
            entry,
            report=current_report(
                reports.runners,
                stream_key(document.identifier, name),
                alive_since_ms=alive_since_ms,
            ),
            position=positions.get(name),
            now_ms=clock.now_ms(),
            alive_since_ms=alive_since_ms,
        )


def _holders(
    document: TableDocument, holders: StreamHolders, leases: LeaseStore
) -> Iterator[Finding]:
    """Yield the runners of a table's streams, and who holds the lease of its maintenance."""
    held = holders.holders(document.identifier, *document.streams)
    for name, runner in sorted(held.items()):
        check = f"runner of {document.identifier}/{name}"
        yield Finding(check=check, level=Level.INFO, found=f"held by {runner}")
    lease = leases.holder(document.identifier, MAINTENANCE)
    if lease is not None:
        check = f"lease {document.identifier}/maintenance"
        yield Finding(check=check, level=Level.INFO, found=f"held by {lease.owner}")


def _unreadable(registered: RegisteredTables, reports: RunnerReports) -> Iterator[Finding]:
    for identifier, error in registered.unreadable.items():
        yield _table_problem(identifier, error)
    for identifier, missing in registered.newer.items():
        yield Finding(
            check=f"table {identifier}",
            level=Level.PROBLEM,
            found=str(missing).splitlines()[0],
            advice="upgrade this program, and runners and services",
        )
    for runner in reports.unreadable:
        yield Finding(
            check=f"runner {runner}",
            level=Level.WARNING,
            found="its report cannot be read",
            advice="it is replaced by the next report of the runner; see its log",
        )


def _table_problem(identifier: str, error: LakeError) -> Finding:
    lines = str(error).splitlines()
    return Finding(
        check=f"table {identifier}",
        level=Level.PROBLEM,
        found=lines[0],
        advice=" ".join(lines[1:]) or "restore the file that the message names from a backup",
    )
