"""The service over a warehouse in memory."""

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.limits import RequestLimits
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def file_io(clock: ManualClock) -> MemoryFileIO:
    return MemoryFileIO(clock=clock)


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog("/w", file_io=file_io, clock=clock)


@pytest.fixture
def client(file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog) -> HttpClient:
    limits = RequestLimits(snapshot_wait_seconds=0.1)  # no test waits long for what does not come
    settings = ServiceSettings(warehouse="/w", limits=limits)
    app = create_app(settings, catalog=catalog, file_io=file_io, clock=clock)
    return HttpClient(app)


@pytest.fixture
def shop(client: HttpClient) -> HttpClient:
    """The same, with the table `shop.orders`."""
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    return client
