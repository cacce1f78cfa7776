"""Implementation of `braid doctor`: all checks that can be made here, and what each finding asks for."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from braid.cli.api.connection import Connection
from braid.cli.api.tables import table_names
from braid.cli.arguments import existing_warehouse, known_clusters, one_line_errors
from braid.cli.doctor.findings import Finding, Level
from braid.cli.doctor.machine import (
    check_disk,
    check_runner_programs,
    check_versions,
    check_warehouse_disk,
)
from braid.cli.doctor.report import findings_text
from braid.cli.doctor.streams import check_compaction, check_stream
from braid.cli.exits import EXIT_FAILED
from braid.cli.extras import is_installed
from braid.cli.output import OutputFormat, print_document
from braid.client import Client, Unavailable
from braid.lake import SystemClock, file_io_for
from braid.schemas import StreamSpec


def doctor(
    connection: Connection,
    warehouse: str | None,
    *,
    clusters: Path | None,
    kafka: str | None,
    lookup_directory: str | None,
    output: OutputFormat,
) -> int:
    """Check a deployment, and print the findings.

    Args:
        connection: The service, whose streams and tables are checked without a warehouse.
        warehouse: The warehouse that is checked itself; None: the service is asked instead.
        clusters: The operators' file of Kafka clusters; None: there is none.
        kafka: Bootstrap servers of the cluster `default`; None: there is none.
        lookup_directory: The folder of the service's copies of data files.
        output: The form of the output.

    Returns:
        The exit status: 0; 1 if a finding is a problem.
    """
    findings = [*check_versions(), *check_runner_programs(), *check_disk(lookup_directory)]
    if warehouse is None:
        findings += list(_service_findings(connection))
    else:
        findings += list(_warehouse_findings(warehouse, clusters, kafka))
    document = {"findings": [{**asdict(one), "level": one.level.value} for one in findings]}
    print_document(document, output, findings_text(findings))
    return EXIT_FAILED if any(one.level is Level.PROBLEM for one in findings) else 0


def _service_findings(connection: Connection) -> Iterator[Finding]:
    with connection.client() as client:
        yield _readiness(client, connection.api)
        for name in table_names(client):
            table = client.table(name)
            yield from check_compaction(table.maintenance())
            for stream in table.streams().streams:
                yield from check_stream(table.stream(stream.name).status())
    yield Finding(
        check="storage",
        level=Level.INFO,
        found="storage, the holders of streams and Kafka are not checked through a service",
        advice="where the warehouse can be reached: braid doctor --warehouse PATH --clusters FILE",
    )


def _readiness(client: Client, api: str) -> Finding:
    """Return whether the service is ready: one that is not may answer all the same what it reads."""
    try:
        client.ready()
    except Unavailable as error:
        return Finding(
            check="service",
            level=Level.PROBLEM,
            found=f"{api} is not ready: {error.detail}",
            advice=f"the log of the service has the reason under the request id {error.request_id}; "
            "so has `braid doctor --warehouse PATH`, where the warehouse can be reached",
        )
    return Finding(check="service", level=Level.OK, found=f"{api} is ready")


def _warehouse_findings(
    warehouse: str, clusters: Path | None, kafka: str | None
) -> Iterator[Finding]:
    # Here, not above: the service's package is needed for a warehouse alone.
    from braid.cli.doctor.storage import check_storage
    from braid.cli.doctor.stored_state import read_state

    path = existing_warehouse(warehouse)
    file_io, clock = file_io_for(path), SystemClock()
    storage = list(check_storage(file_io, path, clock))
    yield from storage
    yield from check_warehouse_disk(path)
    if any(one.level is Level.PROBLEM for one in storage):
        return
    with one_line_errors():
        state = read_state(file_io, path, clock)
    yield from state.findings
    for maintenance in state.maintenance:
        yield from check_compaction(maintenance)
    for stream in state.streams:
        yield from check_stream(stream)
    yield from _kafka_findings(state.specs, clusters, kafka)


def _kafka_findings(
    specs: Sequence[StreamSpec], clusters: Path | None, kafka: str | None
) -> Iterator[Finding]:
    missing: str | None = None
    if clusters is None and kafka is None:
        missing = "give --clusters FILE or --kafka SERVERS"
    elif not is_installed("spark"):
        missing = "pip install 'braid-lake[spark]'"
    if missing is not None:
        found = "Kafka is not checked"
        yield Finding(check="kafka", level=Level.INFO, found=found, advice=missing)
        return
    from braid.cli.doctor.kafka import check_kafka

    yield from check_kafka(specs, known_clusters(clusters, kafka=kafka))
