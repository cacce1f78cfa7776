"""Settings that a service process is started with."""

from dataclasses import dataclass, field

from formats.kafka_clusters import KafkaClusters
from lake import LookupSettings
from service.guard.limits import RequestLimits

# As long as a runner's lease: from then on another may have its streams.
RUNNER_TIMEOUT_MS = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """One service process.

    Attributes:
        warehouse: Where tables and the registry are.
        host: The address to listen at.
        port: The port; 0: any free one.
        runner_timeout_ms: A runner that has said nothing for so long counts as gone.
        clusters: The Kafka clusters that streams may name.
        hosts: Names that it is reached by, besides loopback ones and `host`; None: any, for an
            app that no network reaches.
        origins: Other sites whose pages may change things, such as `https://console.example`.
        limits: Bounds of requests.
        lookups: Where rows by key keep copies of files, and how much of them.
    """

    warehouse: str
    host: str = "127.0.0.1"
    port: int = 8080
    runner_timeout_ms: int = RUNNER_TIMEOUT_MS
    clusters: KafkaClusters = field(default_factory=KafkaClusters)
    hosts: tuple[str, ...] | None = None
    origins: tuple[str, ...] = ()
    limits: RequestLimits = field(default_factory=RequestLimits)
    lookups: LookupSettings = field(default_factory=LookupSettings)
