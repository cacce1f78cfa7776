"""A service process under attack, with a table whose rows other clients read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from braid.client import BraidError, Client
from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.lake import Catalog
from tests.support.hostile.row_requests import SIGNATURE, SIGNED_STREAM
from tests.support.waiting import PATIENCE_S
from tests.support.worker_pids import worker_pids

CALM: Final = "shop.calm"
"""A table that no hostile request is about; its row of key 1 has the total 7."""

_ATTACKED: Final = "shop.orders"
_SNAPSHOTS: Final = 20
_DECLARATION: Final[dict[str, Any]] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "INT"},
        {"name": "paid", "type": "INT"},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "sequence_groups": [
        {"name": "sales", "columns": ["total"]},
        {"name": SIGNED_STREAM, "columns": ["paid"]},
    ],
}
# No broker listens there: a push that is not refused would be an error of storage.
_CLUSTERS: Final = """
[clusters.default]
bootstrap_servers = "127.0.0.1:1"
push = ["*"]

[[clusters.default.signatures]]
topics = ["{topic}"]
header = "{header}"
prefix = "sha256="
secret = "${{file:{secret}}}"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedService:
    """A service.

    Attributes:
        port: The port of this machine that it listens at.
        process_id: Its process, the parent of its workers if there are several.
        workers: Their number.
    """

    port: int
    process_id: int
    workers: int

    def memory(self) -> int:
        """Return the resident bytes of the processes that serve."""
        serving = worker_pids(self.process_id) if self.workers > 1 else {self.process_id}
        return sum(map(_resident_bytes, serving))


@contextmanager
def attacked_service(folder: Path, *, workers: int = 1) -> Iterator[AttackedService]:
    """Start a service with its tables; it ends with the block.

    Args:
        folder: An empty folder for its warehouse and its log.
        workers: The number of its processes.
    """
    warehouse, clusters, secret = (folder / n for n in ("warehouse", "clusters.toml", "secret"))
    warehouse.mkdir()
    secret.write_text("of the service")
    clusters.write_text(_CLUSTERS.format(topic=SIGNED_STREAM, header=SIGNATURE, secret=secret))
    port = free_port()
    with Supervisor(folder / "logs") as supervisor, Client(f"http://127.0.0.1:{port}") as client:
        options = {"warehouse": warehouse, "clusters": clusters, "port": port, "workers": workers}
        arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        arguments.append("--no-access-control")
        process = supervisor.start_module("service", "braid", "service", *arguments)
        service = AttackedService(port=port, process_id=process.process_id, workers=workers)

        def is_ready() -> bool:
            try:
                is_ready = client.ready().status == "ready"
            except BraidError:
                return False
            return is_ready and (workers == 1 or len(worker_pids(process.process_id)) == workers)

        process.wait_ready(is_ready, timeout_s=PATIENCE_S)
        for name in (CALM, _ATTACKED):
            _fill(client, Catalog(str(warehouse)), name)
        yield service


def _fill(client: Client, catalog: Catalog, name: str) -> None:
    declared = client.table(name)
    declared.put(_DECLARATION)
    for stream in ("sales", SIGNED_STREAM):
        declared.stream(stream).put({"topic": stream, "partitioned_by_key": True})
    table = catalog.table(name)
    for number in range(_SNAPSHOTS):
        rows = {"id": [1, 100 + number], "total": [7, number], "sales__partition": [0, 0]}
        table.write_and_commit(pa.table({**rows, "sales__offset": [number, number]}))


def _resident_bytes(process_id: int) -> int:
    pages = int(Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096
