"""Settings of a service process."""

from dataclasses import dataclass, field

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import LookupSettings
from braid.registry.store.superseded_reports import RETENTION_MS
from braid.service.issuers import Issuer
from braid.service.limits import RequestLimits

# The time to live of a runner without a heartbeat: from then on another runner may have its streams.
RUNNER_TIMEOUT_MS = 15_000
AUDIT_RETENTION_MS = 365 * 24 * 60 * 60 * 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """Settings of access control: clients identify themselves by access tokens of the warehouse.

    Attributes:
        issuers: Issuers whose JSON Web Tokens identify clients, too.
    """

    issuers: tuple[Issuer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Settings of one service process.

    Attributes:
        warehouse: Address of the tables and the registry.
        host: The address to listen at.
        port: The port to listen on; 0: any free port.
        runner_timeout_ms: Age of a runner's last report from which it counts as gone, milliseconds.
        clusters: The Kafka clusters that streams may name.
        hosts: Host names that requests may be addressed to, besides loopback names and `host`; None: any,
            for an app without a network.
        origins: Other sites whose pages may send state-changing requests, such as
            `https://console.example`.
        access: Who may use the service; None: every client may do everything, for an app without a network, or at
            a loopback address.
        limits: Bounds of requests.
        drain_seconds: How long the process says that it is not ready, and goes on to serve, before it ends.
        follow_ms: Pause between two looks for new snapshots of a table in use, milliseconds; 0: each request looks.
        audit_retention_ms: Age in milliseconds from which entries of the audit log are deleted.
        report_retention_ms: Age in milliseconds from which superseded reports of runners that are gone are deleted.
        operation_workers: Operations that the process carries out at once, each in a process of its own; 0: other ones carry them out.
        lookups: Directory and bounds of the copies of files for row lookups.
    """

    warehouse: str
    host: str = "127.0.0.1"
    port: int = 8080
    runner_timeout_ms: int = RUNNER_TIMEOUT_MS
    clusters: KafkaClusters = field(default_factory=KafkaClusters)
    hosts: tuple[str, ...] | None = None
    origins: tuple[str, ...] = ()
    access: AccessSettings | None = None
    limits: RequestLimits = field(default_factory=RequestLimits)
    drain_seconds: float = 0.0
    follow_ms: int = 0
    audit_retention_ms: int = AUDIT_RETENTION_MS
    report_retention_ms: int = RETENTION_MS
    operation_workers: int = 2
    lookups: LookupSettings = field(default_factory=LookupSettings)
