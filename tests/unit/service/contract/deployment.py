"""A service over a copy of the warehouse, whose storage fails as told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from braid.lake import Catalog, ManualClock, MemoryFileIO, StorageUnavailable
from braid.service.app import create_app
from braid.service.limits import RequestLimits
from braid.service.settings import AccessSettings, ServiceSettings
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import copied
from tests.unit.service.contract.documented import Operation
from tests.unit.service.contract.valid_requests import request_for
from tests.unit.service.contract.warehouse import CLUSTERS, warehouse
from tests.unit.service.http_client import HttpClient
from tests.unit.service.memory_topic import MemoryTopic


class FallibleClock(ManualClock):
    """A clock that has a defect from some moment on."""

    is_defective = False

    def now_ms(self) -> int:
        if self.is_defective:
            message = "a defect"
            raise RuntimeError(message)
        return super().now_ms()


@dataclass(kw_only=True)
class Deployment:
    """A service.

    Attributes:
        limits: The bounds of requests.
        access: The settings of access control; None: none.
        hosts: Names that requests may be addressed to; None: any.
        clock: The clock.
        files: The copy of the warehouse.
        storage: The same, through which the service reaches it.
    """

    limits: RequestLimits = field(default_factory=lambda: RequestLimits(snapshot_wait_seconds=0.0))
    access: AccessSettings | None = None
    hosts: tuple[str, ...] | None = None
    clock: FallibleClock = field(default_factory=FallibleClock)
    files: MemoryFileIO = field(default_factory=lambda: copied(warehouse().files))

    def __post_init__(self) -> None:
        self.storage = FaultyFileIO(self.files)
        settings = ServiceSettings(
            warehouse="/w",
            clusters=CLUSTERS,
            limits=self.limits,
            access=self.access,
            hosts=self.hosts,
        )
        self.app = create_app(
            settings,
            catalog=Catalog("/w", file_io=self.storage, clock=self.clock),
            file_io=self.storage,
            clock=self.clock,
            producer=MemoryTopic(),
        )
        self.client = HttpClient(self.app)

    def fail(self, error: Exception | None = None) -> None:
        """Let each call of storage fail from now on: with `error`, or because storage does not answer."""

        def fault(_: int, method: str, path: str) -> None:
            raise error or StorageUnavailable(f"{method} {path}")

        self.storage.before = fault

    def recover(self) -> None:
        """Let storage work again."""
        self.storage.before = self.storage.after = lambda *_: None

    def before_call(
        self, method: str, path: str, act: Callable[[str], object], *, nth: int = 1
    ) -> None:
        """Let something happen right before a call of storage, as if another process did it.

        Args:
            method: The method of the storage.
            path: What the path of the call begins with.
            act: What happens; gets the path.
            nth: At which of these calls it happens; 0: at each.
        """
        count = 0

        def fault(_: int, called: str, at: str) -> None:
            nonlocal count
            if called == method and at.startswith(path):
                count += 1
                if nth in (0, count):
                    act(at)

        self.storage.before = fault

    def answer(self, operation: Operation, **changed: Any) -> httpx.Response:
        """Return the answer to the valid request for an operation, with parts of it changed (see `ValidRequest.changed`)."""
        request = request_for(operation).changed(**changed)
        return self.client.request(operation.method, request.address(operation), **request.options)
