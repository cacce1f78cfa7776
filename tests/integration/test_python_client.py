"""The Python client and a service process: the examples of the guide, over real HTTP."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from braid.client import BraidError, Client
from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.lake import Catalog
from tests.support.doc_examples import ROOT, run_python
from tests.support.waiting import PATIENCE_S
from tests.unit.client.conftest import PARCELS

pytestmark = pytest.mark.integration

GUIDE = ROOT / "docs" / "guides" / "python-client.md"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A service whose table `shop.parcels` has three rows."""
    warehouse, port = tmp_path / "warehouse", free_port()
    warehouse.mkdir()
    address = f"http://127.0.0.1:{port}"
    with Supervisor(tmp_path / "logs") as supervisor, Client(address) as client:
        arguments = ("--warehouse", str(warehouse), "--port", str(port), "--no-access-control")
        child = supervisor.start_module("service", "braid", "service", *arguments)

        def is_ready() -> bool:
            with suppress(BraidError, httpx.TransportError):
                return client.ready().status == "ready"
            return False

        child.wait_ready(is_ready, timeout_s=PATIENCE_S)
        client.table("shop.parcels").put(PARCELS)
        rows = pa.table({"id": [7, 8, 9], "city": ["Ulm", "Graz", "Wien"]})
        Catalog(str(warehouse)).table("shop.parcels").write_and_commit(rows)
        yield address


def test_the_examples_of_the_guide_print_what_it_says(address: str) -> None:
    run_python(GUIDE, {"address": address}, kind="client")
