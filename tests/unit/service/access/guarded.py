"""A service with access control over a warehouse in memory, and its tokens."""

from dataclasses import dataclass, field
from typing import Any

import httpx

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.records.outgoing_records import RecordProducer
from braid.registry.store.access_tokens import AccessTokens, random_text, token_of
from braid.schemas.access import AccessScope, Grant
from braid.service.app import create_app
from braid.service.limits import RequestLimits
from braid.service.settings import AccessSettings, ServiceSettings
from tests.unit.service.http_client import HttpClient


def grant_of(text: str) -> Grant:
    """Return the grant of a text such as `read:shop.*`."""
    scope, _, tables = text.partition(":")
    return Grant(scope=AccessScope(scope), tables=tuple(tables.split(",")))


def bearer(token: str) -> dict[str, str]:
    """Return the header of a token."""
    return {"authorization": f"Bearer {token}"}


@dataclass(kw_only=True)
class Guarded:
    """A service.

    Attributes:
        clock: The clock.
        clusters: The Kafka clusters.
        producer: Sends pushed records.
        limits: The bounds of requests.
        access: The settings of access control; None: none.
    """

    clock: ManualClock = field(default_factory=ManualClock)
    clusters: KafkaClusters = field(default_factory=KafkaClusters)
    producer: RecordProducer | None = None
    limits: RequestLimits = field(default_factory=RequestLimits)
    access: AccessSettings | None = field(default_factory=AccessSettings)

    def __post_init__(self) -> None:
        settings = ServiceSettings(
            warehouse="/w", clusters=self.clusters, access=self.access, limits=self.limits
        )
        self.file_io = MemoryFileIO(clock=self.clock)
        self.catalog = Catalog("/w", file_io=self.file_io, clock=self.clock)
        self.tokens = AccessTokens(self.file_io, "/w", self.clock)
        self.client = HttpClient(
            create_app(
                settings,
                catalog=self.catalog,
                file_io=self.file_io,
                clock=self.clock,
                producer=self.producer,
            )
        )

    def token(self, name: str, *grants: str, expires_ms: int | None = None) -> str:
        """Make a token and return its text."""
        return self.token_with(name, *map(grant_of, grants), expires_ms=expires_ms)

    def token_with(self, name: str, *grants: Grant, expires_ms: int | None = None) -> str:
        """Make a token of grants and return its text."""
        text = random_text()
        token = token_of(text, name, grants, now_ms=self.clock.now_ms(), expires_ms=expires_ms)
        self.tokens.add(token)
        return text

    def request(
        self, method: str, path: str, token: str | None = None, **options: Any
    ) -> httpx.Response:
        """Send a request, with a token or without one."""
        headers = {} if token is None else bearer(token)
        return self.client.request(method, path, headers=headers, **options)
