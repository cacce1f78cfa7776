"""Both clients of a service over a warehouse in memory."""

import random

import httpx
import pyarrow as pa
import pytest

from braid.client import AsyncClient, Client, ClientSettings
from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.settings import ServiceSettings
from tests.support.app_transport import AppTransport

ADDRESS = "http://braid"
PARCELS = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "paid", "type": "DECIMAL(10, 2)"},
        {"name": "city", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "merge_engine": "deduplicate",
}


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
def app(catalog: Catalog, file_io: MemoryFileIO, clock: ManualClock) -> BraidApp:
    settings = ServiceSettings(warehouse="/w")
    return create_app(settings, catalog=catalog, file_io=file_io, clock=clock)


@pytest.fixture
def client(app: BraidApp) -> Client:
    settings = ClientSettings(chance=random.Random(1))
    return Client(ADDRESS, settings=settings, transport=AppTransport(app))


def async_client(app: BraidApp) -> AsyncClient:
    """Return a client for the coroutines of one test; it belongs to their event loop."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return AsyncClient(ADDRESS, transport=transport)


@pytest.fixture
def parcels(client: Client, catalog: Catalog) -> Client:
    """The client, of a service with three rows in `shop.parcels`."""
    client.table("shop.parcels").put(PARCELS)
    write(catalog, {7: "Ulm", 8: "Graz", 9: "Wien"})
    return client


def write(catalog: Catalog, cities: dict[int, str]) -> None:
    """Commit rows of `shop.parcels`, by their ids."""
    table = catalog.table("shop.parcels")
    columns = {"id": list(cities), "city": list(cities.values())}
    table.write_and_commit(pa.table({"id": columns["id"], "city": columns["city"]}))
